import type pg from "pg";
import type { Actor } from "../../../identity/actor.ts";
import type {
  AuditAction,
  AuditEvent,
  AuditFilter,
  AuditObject,
  AuditOutcome,
  AuditPosition,
  AuditReader,
} from "../../../identity/audit/audit-event.ts";
import { runStatement } from "../run-statement.ts";

interface EventRow {
  account_id: string;
  occurred_at: Date;
  id: number;
  action: AuditAction;
  outcome: AuditOutcome;
  actor_kind: Actor["kind"];
  actor_account_id: string | null;
  actor_client_id: string | null;
  actor_token_id: string | null;
  address: string;
  user_agent: string;
  object_type: AuditObject;
  object_id: string;
  object_name: string;
  changed: string[];
}

const COLUMNS = `account_id, occurred_at, id, action, outcome, actor_kind, actor_account_id, actor_client_id, actor_token_id,
  address, user_agent, object_type, object_id, object_name, changed`;

/** What narrows a page: how it is named, and its condition on a parameter. */
const FILTERS: readonly (readonly [key: keyof AuditFilter, condition: (parameter: string) => string])[] = [
  ["action", (parameter) => `action = ${parameter}`],
  ["outcome", (parameter) => `outcome = ${parameter}`],
  ["objectType", (parameter) => `object_type = ${parameter}`],
  ["objectId", (parameter) => `object_id = ${parameter}`],
  ["actor", (parameter) => `(actor_account_id = ${parameter} or actor_client_id = ${parameter})`],
  ["connectionIds", (parameter) => `object_type = 'connection' and object_id = any (${parameter}::text[])`],
  ["from", (parameter) => `occurred_at >= ${parameter}`],
  ["to", (parameter) => `occurred_at < ${parameter}`],
];

/**
 * The audit log in PostgreSQL, newest first. Only what is asked for becomes part of the statement; there are too many
 * shapes to name each, and nobody asks often.
 */
export function createAuditReader(pool: pg.Pool): AuditReader {
  return {
    async page(accountId, filter, before, limit) {
      const { text, values } = conditions(accountId, filter, before);
      values.push(limit);
      const { rows } = await runStatement<EventRow>(pool, {
        name: "",
        text: `select ${COLUMNS} from audit_event ${text} order by occurred_at desc, id desc limit $${values.length}`,
        values,
      });
      return rows.map(toEvent);
    },
  };
}

function conditions(accountId: string | undefined, filter: AuditFilter, before: AuditPosition | undefined) {
  const values: unknown[] = [];
  const parts: string[] = [];
  if (accountId !== undefined) parts.push(`account_id = $${values.push(accountId)}`);
  for (const [key, condition] of FILTERS) {
    if (filter[key] !== undefined) parts.push(condition(`$${values.push(filter[key])}`));
  }
  if (before !== undefined) {
    const [occurredAt, id] = [values.push(before.occurredAt), values.push(before.id)];
    parts.push(`(occurred_at, id) < ($${occurredAt}, $${id})`);
  }
  return { text: parts.length === 0 ? "" : `where ${parts.join(" and ")}`, values };
}

function toEvent(row: EventRow): AuditEvent {
  return {
    accountId: row.account_id,
    occurredAt: row.occurred_at,
    id: row.id,
    action: row.action,
    outcome: row.outcome,
    actor: {
      kind: row.actor_kind,
      accountId: row.actor_account_id ?? undefined,
      clientId: row.actor_client_id ?? undefined,
      tokenId: row.actor_token_id ?? undefined,
      address: row.address,
      userAgent: row.user_agent,
    },
    objectType: row.object_type,
    objectId: row.object_id,
    objectName: row.object_name,
    changed: row.changed,
  };
}
