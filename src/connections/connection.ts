import type { AuthorizedBy } from "../integrations/target.ts";
import type { JsonObject } from "../json.ts";

/** Access types (SPEC «Access types»). */
export const ACCESS_TYPES = ["read", "write", "individual"] as const;

export type AccessType = (typeof ACCESS_TYPES)[number];

/** Whether a changed tool definition waits for the owner's approval or is accepted at once. */
export const TOOL_CHANGE_ACCEPTANCES = ["manual", "automatic"] as const;

export type ToolChangeAcceptance = (typeof TOOL_CHANGE_ACCEPTANCES)[number];

/** The longest retention of call payloads, in days. */
export const MAX_KEEP_CONTENTS_DAYS = 30;

/** The longest limit of a connection for its calls, in seconds. */
export const MAX_CALL_SECONDS = 86_400;

export type VerificationStatus = "pending" | "verified" | "failed";

export interface Connection {
  readonly accountId: string;
  /** At least 1, never reused. */
  readonly id: number;
  readonly serverType: string;
  readonly name: string;
  /** Unique in the account. Qualifies the names of its tools where several connections offer the same. */
  readonly alias: string;
  readonly description: string;
  readonly agentEnabled: boolean;
  readonly accessType: AccessType;
  /** The configuration without secrets. */
  readonly configuration: JsonObject;
  /** Whether the integration's credential is stored. */
  readonly hasCredential: boolean;
  readonly verificationStatus: VerificationStatus;
  readonly authMethod: AuthorizedBy;
  /**
   * Whether the owner must log in at the upstream. If the verification is still `verified`, the present authorization
   * works but lacks scopes that a call needed.
   */
  readonly needsAuthorization: boolean;
  /** The reason of the verification status, as a public message. */
  readonly statusReason: string | undefined;
  /** Incremented by every change of credential or destination. */
  readonly keyVersion: number;
  /** Ids of the disabled tools, ascending. */
  readonly disabledToolIds: readonly number[];
  /**
   * Under `individual`: the tools seen so far; all others count as disabled. Undefined before the first list, and for
   * other access types.
   */
  readonly knownToolIds: readonly number[] | undefined;
  readonly acceptToolChanges: ToolChangeAcceptance;
  /** The digest of the accepted definitions. Undefined before the first list, and under `automatic`. */
  readonly acceptedDefinitions: string | undefined;
  /** How many of the upstream's tools differed from the accepted definitions in its last list. */
  readonly changedTools: number;
  /** Retention of call payloads in days, 1 to 30; 0 stores none. */
  readonly keepContentsDays: number;
  /** How long a call may take without progress; 0 is the operator's limit. */
  readonly callIdleSeconds: number;
  /** How long a call may take in total; 0 is the operator's limit. */
  readonly callMaxSeconds: number;
  readonly oauthClientId: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

export type ConnectionStatus = "active" | "disabled" | "needs_authorization" | "error";

/**
 * `disabled` if agents may not use it, `needs_authorization` if its owner must log in at the upstream, `error` if its
 * key fails, `active` otherwise.
 */
export function connectionStatus(connection: Connection): ConnectionStatus {
  if (!connection.agentEnabled) return "disabled";
  if (connection.needsAuthorization) return "needs_authorization";
  return connection.verificationStatus === "failed" ? "error" : "active";
}

/** The scopes of the connection's own client (DESIGN §6 «access_type»). */
export function connectionScopes(accessType: AccessType): readonly ("mcp.read" | "mcp.write")[] {
  return accessType === "read" ? ["mcp.read"] : ["mcp.read", "mcp.write"];
}

export interface ConnectionDraft {
  readonly serverType: string;
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  readonly accessType?: string | undefined;
  readonly acceptToolChanges?: string | undefined;
  readonly configuration: JsonObject;
  /** One of the integration's authentication methods. Undefined derives it from the configuration. */
  readonly authMethod?: string | undefined;
}
