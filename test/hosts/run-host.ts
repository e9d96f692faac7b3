import type { Host, OpenHost } from "./host.ts";
import type { StepResult } from "./matrix.ts";
import { type Step, STEPS } from "./story.ts";
import type { MatrixUpstream } from "./upstreams.ts";

/** Each step may take so many milliseconds. */
const LIMIT_MS = 30_000;

/** How a server learns that its client cannot answer. */
const NOBODY_ANSWERS = /not supported by the client|capability/i;

/** Takes every step with a host that runs in this process. */
export async function runHost(
  host: Host,
  upstream: MatrixUpstream & { readonly url: URL },
  token: string,
): Promise<readonly StepResult[]> {
  const open = await host.open(upstream.url, token);
  const results: StepResult[] = [];
  try {
    for (const step of STEPS) {
      const result = await withinLimit(TAKE[step](open, upstream, host)).catch((error: unknown) => String(error));
      results.push({ upstream: upstream.story.upstream, step, result });
    }
  } finally {
    await open.close();
  }
  return results;
}

/** Resolves to `yes`, or to the word for what is not possible. Rejects if the step fails. */
type TakeStep = (open: OpenHost, upstream: MatrixUpstream, host: Host) => Promise<string>;

const TAKE: Readonly<Record<Step, TakeStep>> = {
  list: async (open, { story }) => {
    const names = await open.tools();
    const missing = [story.call.tool, story.cancel.tool].filter((name) => !names.includes(name));
    return missing.length === 0 ? "yes" : `does not list ${missing.join(", ")}`;
  },

  call: async (open, { story: { call } }) => expectText(await open.call(call.tool, call.arguments), call.text),

  progress: async (open, { story, lacks }, host) => {
    const call = story.progress ?? story.call;
    let count = 0;
    const text = await open.call(call.tool, call.arguments, { onProgress: () => (count += 1) });
    const lack = lacks.progress ?? host.lacks.progress;
    if (lack !== undefined && count === 0) return expectText(text, call.text, lack.word);
    return count > 0 ? expectText(text, call.text) : "received no progress notification";
  },

  cancel: async (open, { story: { cancel }, witness }) => {
    const canceling = new AbortController();
    const ended = open.call(cancel.tool, cancel.arguments, { signal: canceling.signal }).then(
      (text) => `ended with ${text}`,
      () => "yes",
    );
    await witness.started();
    canceling.abort();
    const result = await ended;
    if (result === "yes") await witness.canceled();
    return result;
  },

  input: async (open, { story: { input }, lacks }, host) => {
    if (input === undefined) return lacks.input?.word ?? "the upstream asks nothing";
    const text = await open.call(input.tool, input.arguments).catch((error: unknown) => String(error));
    const lack = host.lacks.input;
    return lack !== undefined && NOBODY_ANSWERS.test(text) ? lack.word : expectText(text, input.text);
  },
};

function expectText(text: string, expected: string, result = "yes"): string {
  return text.includes(expected) ? result : `returns ${text}`;
}

async function withinLimit(step: Promise<string>): Promise<string> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(resolve, LIMIT_MS, `took more than ${LIMIT_MS} ms`);
  });
  try {
    return await Promise.race([step, late]);
  } finally {
    clearTimeout(timer);
  }
}
