import type { InputRequests, Tool } from "@modelcontextprotocol/server";

/** What a call has of its client. */
export interface InputContext {
  /** The answers by key; undefined for the first request. */
  readonly responses: Record<string, unknown> | undefined;
  /** The state of the last round. */
  readonly state: string | undefined;
  /** Whether the client declared a capability. */
  readonly declares: (capability: string) => boolean;
}

/** The requests of a round with the state for the next one, or the text of the result. */
export type InputStep = { readonly requests: InputRequests; readonly state?: string } | string;

const form = (message: string, property: string): InputRequests[string] => ({
  method: "elicitation/create",
  params: {
    mode: "form",
    message,
    requestedSchema: { type: "object", properties: { [property]: { type: "string" } }, required: [property] },
  },
});
const CONFIRM: InputRequests[string] = {
  method: "elicitation/create",
  params: {
    mode: "form",
    message: "Please confirm",
    requestedSchema: { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] },
  },
};
const sample = (text: string): InputRequests[string] => ({
  method: "sampling/createMessage",
  params: { messages: [{ role: "user", content: { type: "text", text } }], maxTokens: 100 },
});
const ROOTS: InputRequests[string] = { method: "roots/list", params: {} };

/** Asks the requests until the client has answered each of them. */
const once =
  (requests: InputRequests, state?: string) =>
  ({ responses, state: sent }: InputContext): InputStep => {
    const isAnswered = Object.keys(requests).every((key) => typeof responses?.[key] === "object");
    if (isAnswered && sent === state) return `state-ok ${JSON.stringify(responses)}`;
    return { requests, ...(state !== undefined && { state }) };
  };

/** The tools that ask their client for input, by the suite's names. */
export const INPUT_TOOLS: ReadonlyMap<string, (context: InputContext) => InputStep> = new Map([
  ["test_input_required_result_elicitation", once({ user_name: form("What is your name?", "name") })],
  ["test_input_required_result_sampling", once({ capital_question: sample("What is the capital of France?") })],
  ["test_input_required_result_list_roots", once({ client_roots: ROOTS })],
  ["test_input_required_result_request_state", once({ confirm: CONFIRM }, "waits for a confirmation")],
  ["test_input_required_result_tampered_state", once({ confirm: CONFIRM }, "waits for a confirmation")],
  [
    "test_input_required_result_multiple_inputs",
    once(
      {
        user_name: form("What is your name?", "name"),
        greeting: sample("Generate a greeting"),
        client_roots: ROOTS,
      },
      "waits for three answers",
    ),
  ],
  [
    "test_input_required_result_multi_round",
    ({ responses, state }) => {
      if (state === undefined) return { requests: { step1: form("Step 1: What is your name?", "name") }, state: "1" };
      if (state === "1") return { requests: { step2: form("Step 2: Your favorite color?", "color") }, state: "2" };
      return `Done: ${JSON.stringify(responses)}`;
    },
  ],
  [
    "test_input_required_result_capabilities",
    (context) => {
      const requests: InputRequests = {
        ...(context.declares("sampling") && { greeting: sample("Generate a greeting") }),
        ...(context.declares("elicitation") && { user_name: form("What is your name?", "name") }),
      };
      return once(requests)(context);
    },
  ],
]);

/** The prompt that asks for input. */
export const INPUT_PROMPT = "test_input_required_result_prompt";

export const promptInput = once({ user_context: form("What context should the prompt use?", "context") });

export const INPUT_TOOL_LIST: readonly Tool[] = [...INPUT_TOOLS.keys()].map((name) => ({
  name,
  description: "Asks its client for input.",
  inputSchema: { type: "object", properties: {} },
}));
