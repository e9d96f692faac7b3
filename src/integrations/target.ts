import type { JsonObject } from "../json.ts";
import type { Relay } from "./relay.ts";

/** Credentials of the configuration (possibly none), or tokens of the owner's login or the operator's client. */
export type AuthorizedBy = "configured" | "oauth2";

/** The destination and credentials of one outbound call. */
export interface Target {
  readonly accountId: string;
  /** Negative for a configuration on trial: nothing may be stored for it. */
  readonly connectionId: number;
  /** Incremented with every change of credential or destination; cache keys include it. */
  readonly keyVersion: number;
  /** The configuration with its secrets decrypted. Never logged, never returned. */
  readonly configuration: JsonObject;
  /** Default: `configured`. */
  readonly authMethod?: AuthorizedBy;
}

export interface CallOptions extends Relay {
  /** Aborted when the caller disconnects or the deadline passes. */
  readonly signal: AbortSignal;
}
