import type { Story } from "./story.ts";

const NO_ARGUMENTS = { type: "object" as const, properties: {} };

/** The tools of the upstreams that are built with the SDKs. */
export const MATRIX_TOOLS = [
  {
    name: "echo",
    description: "Returns the text.",
    inputSchema: { type: "object" as const, properties: { text: { type: "string" } }, required: ["text"] },
  },
  { name: "count", description: "Reports progress three times.", inputSchema: NO_ARGUMENTS },
  { name: "wait", description: "Waits until the call is canceled.", inputSchema: NO_ARGUMENTS },
  { name: "ask", description: "Asks for a color.", inputSchema: NO_ARGUMENTS },
];

/** What a host does with these tools. */
export const MATRIX_STORY: Omit<Story, "upstream"> = {
  call: { tool: "echo", arguments: { text: "hello ✓" }, text: "Echo: hello ✓" },
  progress: { tool: "count", arguments: {}, text: "Counted to 3." },
  cancel: { tool: "wait", arguments: {} },
  input: { tool: "ask", arguments: {}, text: "You chose green." },
};

/** The form of `ask`. */
export const COLOR_FORM = {
  mode: "form" as const,
  message: "Which color?",
  requestedSchema: {
    type: "object" as const,
    properties: { color: { type: "string" as const } },
    required: ["color"],
  },
};

/**
 * The pause after each progress notification of `count`, in milliseconds: some clients drop notifications that arrive
 * together with the result.
 */
export const COUNT_PAUSE_MS = 200;

/** The progress of `count`. */
export const COUNTED = [1, 2, 3].map((progress) => ({ progress, total: 3, message: `step ${progress}` }));

/** The text of the result of `ask` for an answer to the form. */
export function describeChoice(answer: { readonly action?: unknown; readonly content?: unknown } | undefined): string {
  const { color } = Object(answer?.content) as { color?: unknown };
  return answer?.action === "accept" ? `You chose ${String(color)}.` : "You chose nothing.";
}

/** Resolves when the signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
