import { sql } from "kysely";
import type { Actor } from "../../identity/actor.ts";
import type { NewAuditEvent } from "../../identity/audit/audit-event.ts";

/** The columns that `auditOfChanged` writes. */
export const auditColumns = [
  "account_id",
  "action",
  "object_type",
  "object_id",
  "object_name",
  "changed",
  "actor_kind",
  "actor_account_id",
  "actor_client_id",
  "actor_token_id",
  "address",
  "user_agent",
] as const;

/**
 * Selects an audit event for every row of the common table expression `changed`, so that a hot statement writes the
 * change and its event in one round trip. `actor` is the parameter of `actorParameter`.
 */
export function auditOfChanged(
  { action, objectType }: Pick<NewAuditEvent, "action" | "objectType">,
  fields: readonly string[],
  actor: string,
) {
  return sql<never>`select changed.account_id, ${sql.lit(action)}, ${sql.lit(objectType)}, changed.id::text, changed.name,
      ${fields}::text[], actor.kind, actor."accountId", actor."clientId", actor."tokenId", actor.address, actor."userAgent"
    from changed, jsonb_to_record(${actor}::jsonb) as actor(
      kind text, "accountId" text, "clientId" text, "tokenId" text, address text, "userAgent" text)`;
}

/** The actor as a single parameter. */
export function actorParameter(actor: Actor): string {
  return JSON.stringify(actor);
}
