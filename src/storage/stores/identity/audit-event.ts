import type pg from "pg";
import type { Actor } from "../../../identity/actor.ts";
import type { AuditAction, AuditObject, AuditRecorder, NewAuditEvent } from "../../../identity/audit/audit-event.ts";
import { runStatement } from "../run-statement.ts";

/** What a statement that changes a row says of it: SQL expressions over the rows of `changed`. */
export interface AuditedChange {
  readonly action: AuditAction;
  readonly objectType: AuditObject;
  /** SQL for whose log it is. Unset means the column `account_id`. */
  readonly accountId?: string;
  /** SQL for the object's id. Unset means the column `id`. */
  readonly objectId?: string;
  /** SQL for what people call the object. Unset means nothing. */
  readonly objectName?: string;
  /** SQL for the names of the changed fields, `text[]`. Unset means none. */
  readonly changed?: string;
}

const COLUMNS = `account_id, action, object_type, object_id, object_name, changed, actor_kind, actor_account_id, actor_client_id,
  actor_token_id, address, user_agent`;

/**
 * SQL of a common table expression that writes down every row of `changed` in the same statement as the change, so that
 * neither can be without the other and no further round trip is needed. `parameter` is the number of the parameter that
 * holds `actorParameter(actor)`.
 */
export function auditing(change: AuditedChange, parameter: number): string {
  const { action, objectType, accountId = "changed.account_id", objectId = "changed.id", objectName = "''" } = change;
  return `audited as (
    insert into audit_event (${COLUMNS})
    select ${accountId}, '${action}', '${objectType}', (${objectId})::text, ${objectName}, ${change.changed ?? "'{}'::text[]"},
      actor.kind, actor.account_id, actor.client_id, actor.token_id, actor.address, actor.user_agent
    from changed, jsonb_to_record($${parameter}::jsonb) as actor(
      kind text, account_id text, client_id text, token_id text, address text, user_agent text))`;
}

/** The parameter for `auditing`: the actor as JSON, its names as columns. */
export function actorParameter(actor: Actor): string {
  return JSON.stringify({
    kind: actor.kind,
    account_id: actor.accountId,
    client_id: actor.clientId,
    token_id: actor.tokenId,
    address: actor.address,
    user_agent: actor.userAgent,
  });
}

const RECORD = {
  name: "audit_event_record",
  text: `insert into audit_event (${COLUMNS}, outcome) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
};

/** Writes an event down, within the caller's transaction where there is one. */
export async function recordEvent(runner: pg.Pool | pg.PoolClient, event: NewAuditEvent): Promise<void> {
  const { actor } = event;
  const values = [
    event.accountId,
    event.action,
    event.objectType,
    event.objectId,
    event.objectName,
    event.changed,
    actor.kind,
    actor.accountId ?? null,
    actor.clientId ?? null,
    actor.tokenId ?? null,
    actor.address,
    actor.userAgent,
    event.outcome,
  ];
  await runStatement(runner, { ...RECORD, values });
}

/** Events of their own in PostgreSQL: sign-ins, and what the service does by itself. */
export function createAuditRecorder(pool: pg.Pool): AuditRecorder {
  return { record: (event) => recordEvent(pool, event) };
}
