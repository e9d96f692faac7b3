import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";

/** A request of an upstream to the client of a call: sampling, elicitation or roots. */
export interface RequestToClient {
  readonly method: string;
  readonly params: JsonObject;
  /** The upstream's name for the request. */
  readonly key: string;
}

/** The client's answer, or the error that the upstream receives instead. */
export type ClientAnswer =
  | { readonly kind: "result"; readonly result: JsonObject }
  | { readonly kind: "error"; readonly code: number; readonly message: string; readonly data?: JsonValue | undefined };

/** The input that an upstream of 2026-07-28 requires before it answers a request. */
export interface InputRequired {
  /** The only connection that the answers may go to. */
  readonly connectionId: number;
  /** The upstream's requests by its own keys. */
  readonly requests: JsonObject;
  /** The upstream's `requestState`. */
  readonly state: string | undefined;
}

/** The members that a client of 2026-07-28 adds to a repeated request. */
export interface RequestInput {
  /** Its answers by the keys of the requests. */
  readonly responses: JsonObject | undefined;
  /** The state that it received with the requests. Undefined if it sent none. */
  readonly state: Pick<InputRequired, "connectionId" | "state"> | undefined;
}

/** The client of a call, as far as upstreams may use it. */
export interface RelayedClient {
  /** The declared capabilities that the service passes on. */
  readonly capabilities: JsonObject;
  /**
   * Identifies the clients that may share an upstream session with these capabilities: one session of a client, or one
   * client without sessions.
   */
  readonly audience: string;
  /** Set for a client of 2026-07-28, which receives InputRequired from upstreams of that revision. */
  readonly input: RequestInput | undefined;
  /**
   * Asks the client, which declared the capability. Aborting the signal cancels the request at the client. Rejects if
   * the client is gone or does not answer in time.
   */
  ask(request: RequestToClient, signal: AbortSignal): Promise<ClientAnswer>;
  /** Tells the client about an earlier request. */
  notify(method: string, params: JsonObject): void;
}

/** The properties that decide which upstream session a client uses. */
export type ClientIdentity = Pick<RelayedClient, "capabilities" | "audience">;

const ASKED = ["roots", "sampling", "elicitation"] as const;

/** Returns the part of declared capabilities that upstreams may rely on. */
export function relayedCapabilities(declared: JsonObject): JsonObject {
  const kept: JsonObject = {};
  for (const name of [...ASKED, "extensions"]) {
    const value = declared[name];
    if (isJsonObject(value)) kept[name] = value;
  }
  return kept;
}

/** Whether a client can answer any request. */
export function canBeAsked({ capabilities }: Pick<RelayedClient, "capabilities">): boolean {
  return ASKED.some((name) => capabilities[name] !== undefined);
}

/** Returns why a client with these capabilities cannot answer a request, or undefined. */
export function unsupportedRequest(
  { roots, sampling, elicitation }: JsonObject,
  { method, params }: Pick<RequestToClient, "method" | "params">,
): string | undefined {
  switch (method) {
    case "roots/list":
      return roots === undefined ? unsupported(method) : undefined;
    case "sampling/createMessage":
      return sampling === undefined ? unsupported(method) : undefined;
    case "elicitation/create": {
      if (!isJsonObject(elicitation)) return unsupported(method);
      const { url, form } = elicitation;
      if (params.mode === "url") return url === undefined ? unsupported("elicitation by URL") : undefined;
      // An empty capability means forms (2025-11-25).
      return url !== undefined && form === undefined ? unsupported("elicitation by form") : undefined;
    }
    default:
      return unsupported(method);
  }
}

function unsupported(what: string): string {
  return `${what} is not supported by the client of this call.`;
}
