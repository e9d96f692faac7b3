import type { JsonObject, JsonValue } from "../json.ts";
import { isJsonObject } from "../json.ts";

/** A request of an upstream to the client of a call: sampling, elicitation or roots. */
export interface ClientRequest {
  readonly method: string;
  readonly params: JsonObject;
}

/** The client's answer, or the error that the upstream receives instead. */
export type ClientAnswer =
  | { readonly kind: "result"; readonly result: JsonObject }
  | { readonly kind: "error"; readonly code: number; readonly message: string; readonly data?: JsonValue | undefined };

/** What an upstream of 2026-07-28 needs before it can answer a request. */
export interface InputRequired {
  /** The only connection that the answers may go to. */
  readonly connectionId: number;
  /** The upstream's requests by its own keys. */
  readonly requests: JsonObject;
  /** The upstream's `requestState`. */
  readonly state: string | undefined;
}

/** What a client of 2026-07-28 adds to a request when it sends it again. */
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
  /** Set for a client of 2026-07-28, which receives InputRequired instead of requests. */
  readonly input: RequestInput | undefined;
}

const RELAYED = ["roots", "sampling", "elicitation", "extensions"] as const;

/** Returns the part of declared capabilities that upstreams may rely on. */
export function relayedCapabilities(declared: JsonObject): JsonObject {
  const kept: JsonObject = {};
  for (const name of RELAYED) {
    const value = declared[name];
    if (isJsonObject(value)) kept[name] = value;
  }
  return kept;
}
