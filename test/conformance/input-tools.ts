import type { InputRequests, Tool } from "@modelcontextprotocol/server";

/** What a call knows about its client. */
export interface InputContext {
  /** The answers by key; undefined for the first request. */
  readonly responses: Record<string, unknown> | undefined;
  /** The state of the last round. */
  readonly state: string | undefined;
  readonly args: Record<string, unknown>;
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

/** Sends the requests until the client has answered each of them. */
const once =
  (requests: InputRequests, state?: string) =>
  ({ responses, state: sent }: InputContext): InputStep => {
    const isAnswered = Object.keys(requests).every((key) => typeof responses?.[key] === "object");
    if (isAnswered && sent === state) return `state-ok ${JSON.stringify(responses)}`;
    return { requests, ...(state !== undefined && { state }) };
  };

const elicit = (message: string, properties: object): InputRequests[string] =>
  ({
    method: "elicitation/create",
    params: { mode: "form", message, requestedSchema: { type: "object", properties } },
  }) as InputRequests[string];
const NAMED = { username: { type: "string", default: "John Doe" } };
const titled = (values: readonly string[]) => values.map((value) => ({ const: value, title: `Title of ${value}` }));
const OPTIONS = ["option1", "option2", "option3"];
const VALUES = ["value1", "value2", "value3"];

/** The tools that earlier revisions of the suite call, which the same code serves in all of them. */
const SESSION_TOOLS: ReadonlyMap<string, (context: InputContext) => InputStep> = new Map([
  ["test_sampling", (context) => once({ sample: sample(String(context.args["prompt"])) })(context)],
  ["test_elicitation", (context) => once({ person: elicit(String(context.args["message"]), NAMED) })(context)],
  ["test_streaming_elicitation", once({ person: elicit("What is your name?", NAMED) })],
  [
    "test_elicitation_sep1034_defaults",
    once({
      person: elicit("Check the defaults.", {
        name: { type: "string", default: "John Doe" },
        age: { type: "integer", default: 30 },
        score: { type: "number", default: 95.5 },
        status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
        verified: { type: "boolean", default: true },
      }),
    }),
  ],
  [
    "test_elicitation_sep1330_enums",
    once({
      person: elicit("Choose.", {
        untitledSingle: { type: "string", enum: OPTIONS },
        titledSingle: { type: "string", oneOf: titled(VALUES) },
        legacyEnum: { type: "string", enum: ["opt1", "opt2", "opt3"], enumNames: ["One", "Two", "Three"] },
        untitledMulti: { type: "array", items: { type: "string", enum: OPTIONS } },
        titledMulti: { type: "array", items: { anyOf: titled(VALUES) } },
      }),
    }),
  ],
]);

const URL_ELICITATION: InputRequests[string] = {
  method: "elicitation/create",
  params: { mode: "url", message: "Log in there.", url: "https://login.example.com/start", elicitationId: "e1" },
};

/** The tools that ask their client for input, by the suite's names. */
export const INPUT_TOOLS: ReadonlyMap<string, (context: InputContext) => InputStep> = new Map([
  ...SESSION_TOOLS,
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
  ["test_url_elicitation", once({ login: URL_ELICITATION })],
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

export const INPUT_TOOL_LIST: readonly Tool[] = [...INPUT_TOOLS.keys()]
  .filter((name) => !SESSION_TOOLS.has(name))
  .map((name) => ({
    name,
    description: "Asks its client for input.",
    inputSchema: { type: "object", properties: {} },
  }));
