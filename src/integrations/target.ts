import type { JsonObject } from "../json.ts";
import type { Relay } from "./relay.ts";

/** What authorises the calls of a connection: what its configuration holds (which may be nothing), or tokens: by its owner's word at the third party, or by the operator's client. */
export type AuthorizedBy = "configured" | "oauth2";

/** A connection as an integration needs it for one outbound call: where to and with what. Lives as long as the call. */
export interface Target {
  readonly accountId: string;
  /** Negative for a configuration that is tried: nothing may be stored for it. */
  readonly connectionId: number;
  /** Grows with every change of credential or destination; caches keyed by it never outlive a key. */
  readonly keyVersion: number;
  /** The whole configuration, secrets opened. Never logged, never returned. */
  readonly configuration: JsonObject;
  /** What authorises its calls; `oauth2` means tokens that its owner got it, or the operator's client gets. Absent means `configured`. */
  readonly authMethod?: AuthorizedBy;
}

/** Options of one outbound call; integrations that hear nothing on the way ignore the relay. */
export interface CallOptions extends Relay {
  /** Aborts the request in flight: the caller went away or the deadline passed. */
  readonly signal: AbortSignal;
}
