import type { InferEntity } from "@mikro-orm/core";
import { aliasWithId } from "../../../connections/alias.ts";
import type { Connection } from "../../../connections/connection.ts";
import type { JsonObject } from "../../../json.ts";
import type { ConnectionEntity } from "../../entities/connections/connection.ts";
import type { SealedPlace, Sealer } from "../../sealing.ts";

/** The columns that `toConnection` reads, of an entity or of a row of a hot statement. */
export type ConnectionRow = Pick<
  InferEntity<typeof ConnectionEntity>,
  Exclude<keyof Connection, "accountId" | "alias" | "acceptedDefinitions" | "statusReason" | "knownToolIds">
> & {
  readonly alias?: string | null | undefined;
  readonly statusReason?: string | null | undefined;
  readonly knownToolIds?: number[] | null | undefined;
  readonly toolPins?: string | null | undefined;
};

/** The location to which encryption binds the secrets of a connection. */
export function secretsPlace(accountId: string, id: number): SealedPlace {
  return { table: "connection", column: "sealed_secrets", accountId, rowId: id };
}

/** Seals the secrets of a connection; null if there are none. */
export function sealSecrets(sealer: Sealer, accountId: string, id: number, secrets: JsonObject): Buffer | null {
  if (Object.keys(secrets).length === 0) return null;
  return sealer.seal(JSON.stringify(secrets), secretsPlace(accountId, id));
}

/** Converts a row to a connection. */
export function toConnection(accountId: string, row: ConnectionRow): Connection {
  return {
    accountId,
    id: row.id,
    serverType: row.serverType,
    name: row.name,
    alias: row.alias ?? aliasWithId(row, row.id),
    description: row.description,
    agentEnabled: row.agentEnabled,
    accessType: row.accessType,
    configuration: row.configuration,
    hasCredential: row.hasCredential,
    verificationStatus: row.verificationStatus,
    statusReason: row.statusReason ?? undefined,
    keyVersion: row.keyVersion,
    disabledToolIds: row.disabledToolIds,
    knownToolIds: row.knownToolIds ?? undefined,
    acceptToolChanges: row.acceptToolChanges,
    acceptedDefinitions: row.toolPins ?? undefined,
    changedTools: row.changedTools,
    authMethod: row.authMethod,
    needsAuthorization: row.needsAuthorization,
    keepContentsDays: row.keepContentsDays,
    callIdleSeconds: row.callIdleSeconds,
    callMaxSeconds: row.callMaxSeconds,
    oauthClientId: row.oauthClientId,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  };
}
