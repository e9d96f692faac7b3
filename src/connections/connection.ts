import type { AuthorizedBy } from "../integrations/target.ts";
import type { JsonObject } from "../json.ts";

/** How far a connection's access goes (SPEC «Access types»). */
export const ACCESS_TYPES = ["read", "write", "individual"] as const;

/** One of them. */
export type AccessType = (typeof ACCESS_TYPES)[number];

/** What happens when an upstream changes the definition of a tool: it waits for the owner's word, or is in force at once. */
export const TOOL_CHANGE_ACCEPTANCES = ["manual", "automatic"] as const;

/** One of them. */
export type ToolChangeAcceptance = (typeof TOOL_CHANGE_ACCEPTANCES)[number];

/** The longest time for which arguments and results of calls can be kept, in days. */
export const MAX_KEEP_CONTENTS_DAYS = 30;

/** What is known of a connection's key. */
export type VerificationStatus = "pending" | "verified" | "failed";

/** A connection without its secrets. */
export interface Connection {
  readonly accountId: string;
  /** At least 1, never reused. */
  readonly id: number;
  readonly serverType: string;
  readonly name: string;
  readonly description: string;
  readonly agentEnabled: boolean;
  readonly accessType: AccessType;
  /** The configuration without its secrets. */
  readonly configuration: JsonObject;
  /** Whether the integration's credential has been supplied. */
  readonly hasCredential: boolean;
  readonly verificationStatus: VerificationStatus;
  readonly authMethod: AuthorizedBy;
  /**
   * Whether its owner has to log in at the third party. While the verification says `verified`, calls still go out by the
   * authorisation there is: it only reaches less far than one of them asked for.
   */
  readonly needsAuthorization: boolean;
  /** Why the verification is where it is, in a public sentence. */
  readonly statusReason: string | undefined;
  /** Grows with every change of credential or destination. */
  readonly keyVersion: number;
  /** Interned tool names that are switched off, ascending. */
  readonly disabledToolIds: readonly number[];
  /** Under `individual`: the tools there were so far; any other counts as disabled. Undefined before the first list, and otherwise. */
  readonly knownToolIds: readonly number[] | undefined;
  readonly acceptToolChanges: ToolChangeAcceptance;
  /** Stands for the definitions that are in force (`ToolPins`). Undefined before the first list, and under `automatic`. */
  readonly acceptedDefinitions: string | undefined;
  /** How many tools the upstream would have otherwise than they are in force, when its list was last looked at. */
  readonly changedTools: number;
  /** For how many days arguments and results of calls are kept, 1 to 30. 0: they are not. */
  readonly keepContentsDays: number;
  readonly oauthClientId: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** The words of `connectionStatus`. */
export type ConnectionStatus = "active" | "disabled" | "needs_authorization" | "error";

/**
 * `disabled` while agents may not use it, `needs_authorization` while its owner has to log in at the third party, `error`
 * while its key fails, `active` otherwise.
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

/** What a caller supplies for a new connection. */
export interface ConnectionDraft {
  readonly serverType: string;
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  readonly accessType?: string | undefined;
  readonly acceptToolChanges?: string | undefined;
  readonly configuration: JsonObject;
  /** One of the integration's ways to authenticate. Undefined leaves it to the configuration. */
  readonly authMethod?: string | undefined;
}
