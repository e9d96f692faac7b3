import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runChild } from "../support/child-process.ts";
import { type ClientScenario, runClientScenario } from "./client.ts";
import { readScenarioResults, type ScenarioResult } from "./scenario-results.ts";

/** The results of one run of the suite's scenarios for clients. */
export interface ClientOutcome {
  readonly title: string;
  readonly code: number | NodeJS.Signals;
  readonly output: string;
  readonly results: readonly ScenarioResult[];
  /** Required scenarios without a single check. */
  readonly missing: readonly string[];
}

export interface ClientRun {
  readonly title: string;
  /** The arguments that choose the scenarios. */
  readonly choice: readonly string[];
  /** The scenarios that must have checks. */
  readonly required: readonly string[];
}

/** Time limit of each scenario. The suite starts all of them at the same time. */
const LIMIT_MS = 120_000;

/**
 * Maximum number of scenarios that run at the same time. If all run at once on a busy machine, slow servers seem to
 * speak older revisions.
 */
const MAX_RUNNING = 4;

/** Runs scenarios with `client.ts` as the client. `suite` is the suite's script. */
export async function runClientSuite(suite: string, { title, choice, required }: ClientRun): Promise<ClientOutcome> {
  const folder = await mkdtemp(join(tmpdir(), "patchbay-client-"));
  const here = new URL(".", import.meta.url).pathname;
  const turns = createTurns(required.length);
  const server = createServer((request, response) => {
    run(request, turns).then(
      (events) => response.end(`${events}\n`),
      (error: unknown) => response.writeHead(500).end(`${String(error)}\n`),
    );
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    const { code, output } = await runChild({
      command: process.execPath,
      args: [
        ...[suite, "client", ...choice, "--command", `${process.execPath} ${here}client-command.ts`],
        ...["--expected-failures", `${here}expected-failures.client.yaml`],
        ...["--timeout", String(LIMIT_MS), "-o", folder],
      ],
      env: { CLIENT_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}` },
    });
    const results = await readScenarioResults(folder);
    const missing = required.filter(
      (name) => !results.some(({ scenario, passed, failed }) => scenario === name && passed + failed.length > 0),
    );
    return { title, code, output, results, missing };
  } finally {
    server.close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function run(request: IncomingMessage, turns: Turns): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk as Uint8Array));
  await turns.next();
  try {
    return await runClientScenario(JSON.parse(Buffer.concat(chunks).toString()) as ClientScenario);
  } finally {
    turns.end();
  }
}

interface Turns {
  /** Resolves when a scenario may run. */
  next(): Promise<void>;
  end(): void;
}

/** Lets the first scenario run when `count` have arrived, because the suite cannot answer while it starts them. */
function createTurns(count: number): Turns {
  const waiting: (() => void)[] = [];
  let arrived = 0;
  let running = 0;
  const start = (): void => {
    while (arrived >= count && running < MAX_RUNNING && waiting.length > 0) {
      running += 1;
      waiting.shift()?.();
    }
  };
  return {
    next: () =>
      new Promise((resolve) => {
        waiting.push(resolve);
        arrived += 1;
        start();
      }),
    end: () => {
      running -= 1;
      start();
    },
  };
}
