import type {
  AccessType,
  Connection,
  ToolChangeAcceptance,
  VerificationStatus,
} from "../../../connections/connection.ts";
import type { AuthorizedBy } from "../../../integrations/target.ts";
import type { JsonObject } from "../../../json.ts";
import type { Sealer } from "../../sealing.ts";

/** A row of `connection` without its secrets, as `SHOWN_COLUMNS` selects it. */
export interface ConnectionRow {
  id: number;
  server_type: string;
  name: string;
  description: string;
  agent_enabled: boolean;
  access_type: AccessType;
  configuration: JsonObject;
  has_credential: boolean;
  verification_status: VerificationStatus;
  status_reason: string | null;
  key_version: number;
  disabled_tool_ids: number[];
  known_tool_ids: number[] | null;
  accept_tool_changes: ToolChangeAcceptance;
  tool_pins: string | null;
  changed_tools: number;
  auth_method: AuthorizedBy;
  needs_authorization: boolean;
  keep_contents_days: number;
  oauth_client_id: string;
  created_at: Date;
  updated_at: Date;
}

/**
 * What a connection is made of, without its sealed secrets, which are asked for by themselves, and its account, which every
 * question names. Each column costs every list of connections something.
 */
export const SHOWN_COLUMNS = `id, server_type, name, description, agent_enabled, access_type, configuration,
  has_credential, verification_status, status_reason, key_version, disabled_tool_ids, known_tool_ids, accept_tool_changes,
  tool_pins, changed_tools, auth_method, needs_authorization, keep_contents_days, oauth_client_id, created_at, updated_at`;

/** The same with the account, for statements that say more of the row they changed. */
export const CONNECTION_COLUMNS = `account_id, ${SHOWN_COLUMNS}`;

/** Where the secrets of a connection are sealed to. */
export function secretsPlace(
  accountId: string,
  id: number,
): { table: string; column: string; accountId: string; rowId: number } {
  return { table: "connection", column: "sealed_secrets", accountId, rowId: id };
}

/** Seals the secrets of a connection; null for none. */
export function sealSecrets(sealer: Sealer, accountId: string, id: number, secrets: JsonObject): Buffer | null {
  if (Object.keys(secrets).length === 0) return null;
  return sealer.seal(JSON.stringify(secrets), secretsPlace(accountId, id));
}

/** The connection in a row, field by field. */
export function toConnection(accountId: string, row: ConnectionRow): Connection {
  return {
    accountId,
    id: row.id,
    serverType: row.server_type,
    name: row.name,
    description: row.description,
    agentEnabled: row.agent_enabled,
    accessType: row.access_type,
    configuration: row.configuration,
    hasCredential: row.has_credential,
    verificationStatus: row.verification_status,
    statusReason: row.status_reason ?? undefined,
    keyVersion: row.key_version,
    disabledToolIds: row.disabled_tool_ids,
    knownToolIds: row.known_tool_ids ?? undefined,
    acceptToolChanges: row.accept_tool_changes,
    acceptedDefinitions: row.tool_pins ?? undefined,
    changedTools: row.changed_tools,
    authMethod: row.auth_method,
    needsAuthorization: row.needs_authorization,
    keepContentsDays: row.keep_contents_days,
    oauthClientId: row.oauth_client_id,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
