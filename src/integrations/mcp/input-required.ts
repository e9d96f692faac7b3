import { randomUUID } from "node:crypto";
import { isJsonObject, type JsonObject } from "../../json.ts";
import { type InputRequired, type RelayedClient, unsupportedRequest } from "../relayed-client.ts";
import { INTERNAL_ERROR, INVALID_PARAMS, RpcError } from "../rpc-error.ts";

/** How often an upstream may ask during one request. */
const MAX_ROUNDS = 20;

/** An upstream asked for input that the client could not give. */
export class InputUnanswered extends RpcError {
  constructor(message: string) {
    super({ code: INTERNAL_ERROR, message });
    this.name = "InputUnanswered";
  }
}

/** The context of a request to an upstream. */
export interface InputOptions {
  readonly client?: RelayedClient | undefined;
  readonly signal: AbortSignal;
}

/**
 * Sends a request with the client's input. If the upstream needs more input, a client of 2026-07-28 receives the
 * upstream's requests as the result; any other client is asked, and the request is sent again. Throws InputUnanswered
 * if the client cannot answer.
 */
export async function requestWithInput<Reply extends { readonly result: JsonObject }>(
  { client, signal }: InputOptions,
  connectionId: number,
  send: (input: JsonObject) => Promise<Reply>,
): Promise<{ readonly reply: Reply; readonly required: InputRequired | undefined }> {
  let reply = await send(inputParams(client, connectionId));
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const required = readInputRequired(reply.result, connectionId);
    if (required === undefined || client?.input !== undefined) return { reply, required };
    if (client === undefined) throw cannotAnswer("The client that made this request cannot answer such requests.");
    const inputResponses = await askAll(client, required, signal);
    reply = await send({
      inputResponses,
      ...(required.state !== undefined && { requestState: required.state }),
    });
  }
  throw cannotAnswer(`It asked more than ${MAX_ROUNDS} times.`);
}

/**
 * The parameters that a repeated request of 2026-07-28 carries. Throws RpcError if its state belongs to another
 * connection.
 */
function inputParams(client: RelayedClient | undefined, connectionId: number): JsonObject {
  const input = client?.input;
  if (input === undefined) return {};
  const { responses, state } = input;
  if (state !== undefined && state.connectionId !== connectionId) {
    const message =
      "requestState belongs to another connection: the name now means a different one. " +
      "Send the request again without requestState and inputResponses.";
    throw new RpcError({ code: INVALID_PARAMS, message });
  }
  return {
    ...(responses !== undefined && { inputResponses: responses }),
    ...(state?.state !== undefined && { requestState: state.state }),
  };
}

function readInputRequired(result: JsonObject, connectionId: number): InputRequired | undefined {
  if (result.resultType !== "input_required") return undefined;
  const { inputRequests, requestState } = result;
  return {
    connectionId,
    requests: isJsonObject(inputRequests) ? inputRequests : {},
    state: typeof requestState === "string" ? requestState : undefined,
  };
}

async function askAll(client: RelayedClient, { requests }: InputRequired, signal: AbortSignal): Promise<JsonObject> {
  const answers = await Promise.all(
    Object.entries(requests).map(async ([key, request]) => {
      const { method = "", params = {} } = isJsonObject(request) ? request : {};
      if (typeof method !== "string" || !isJsonObject(params)) throw cannotAnswer("One of its requests is malformed.");
      const asked = { method, params: forSessions(method, params), key };
      const problem = unsupportedRequest(client.capabilities, asked);
      if (problem !== undefined) throw cannotAnswer(problem);
      const answer = await client.ask(asked, signal);
      if (answer.kind === "result") return [key, answer.result] as const;
      // 2026-07-28 does not allow errors as answers; a missing answer of a person becomes `cancel`.
      if (method === "elicitation/create") return [key, { action: "cancel" }] as const;
      throw cannotAnswer(`The client answered ${method} with an error: ${answer.message}`);
    }),
  );
  return Object.fromEntries(answers);
}

/** 2025-11-25 requires an id in an elicitation by URL, which 2026-07-28 no longer has. */
function forSessions(method: string, params: JsonObject): JsonObject {
  const needsId = method === "elicitation/create" && params.mode === "url" && params.elicitationId === undefined;
  return needsId ? { ...params, elicitationId: randomUUID() } : params;
}

function cannotAnswer(reason: string): InputUnanswered {
  return new InputUnanswered(`The upstream asks its client for input. ${reason}`);
}
