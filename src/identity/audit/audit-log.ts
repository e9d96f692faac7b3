import { invalid } from "../../domain-error.ts";
import type { Principal } from "../principal.ts";
import { onlyHolder, reachableConnections } from "../reach.ts";
import {
  AUDIT_ACTIONS,
  AUDIT_OBJECTS,
  AUDIT_OUTCOMES,
  type AuditEvent,
  type AuditFilter,
  type AuditPosition,
  type AuditReader,
} from "./audit-event.ts";

/** The filter as the request has it. */
export interface AuditQuery {
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
  readonly action?: string | undefined;
  readonly outcome?: string | undefined;
  readonly actor?: string | undefined;
  readonly objectType?: string | undefined;
  readonly objectId?: string | undefined;
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

/** Newest first. */
export interface AuditPage {
  readonly events: readonly AuditEvent[];
  readonly nextCursor: string | undefined;
}

/** Use cases for reading the audit log. Throws `invalid` naming the parameter. */
export interface AuditLog {
  /** Lists the account's events; a token limited to some connections sees only their events, and a member
   * of an organization only those of the member's own actions. */
  list(principal: Principal, query: AuditQuery): Promise<AuditPage>;
  /** Lists the events of one account, or of all accounts and the installation. For administrators. */
  listAll(accountId: string | undefined, query: AuditQuery): Promise<AuditPage>;
}

const DEFAULT_PAGE = 100;
const MAX_PAGE = 500;

export function createAuditLog({ reader }: { readonly reader: AuditReader }): AuditLog {
  async function page(accountId: string | undefined, query: AuditQuery, filter: AuditFilter): Promise<AuditPage> {
    const { limit = DEFAULT_PAGE } = query;
    if (limit < 1 || limit > MAX_PAGE) throw invalid("limit", `limit must be from 1 to ${MAX_PAGE}.`);
    const before = query.cursor === undefined ? undefined : parseCursor(query.cursor);
    const found = await reader.page(accountId, filter, before, limit + 1);
    const events = found.slice(0, limit);
    const last = events.at(-1);
    return { events, nextCursor: found.length > limit && last !== undefined ? formatCursor(last) : undefined };
  }

  return {
    list: async (principal, query) =>
      page(principal.accountId, query, {
        ...toFilter(query, reachableConnections(principal)),
        actorAccountId: onlyHolder(principal),
      }),
    listAll: async (accountId, query) => page(accountId, query, toFilter(query, undefined)),
  };
}

function toFilter(query: AuditQuery, connectionIds: readonly number[] | undefined): AuditFilter {
  const { since, until } = query;
  if (since !== undefined && until !== undefined && since > until)
    throw invalid("since", "since must not be after until.");
  return {
    from: since,
    to: until,
    action: oneOf("action", AUDIT_ACTIONS, query.action),
    outcome: oneOf("outcome", AUDIT_OUTCOMES, query.outcome),
    objectType: oneOf("object_type", AUDIT_OBJECTS, query.objectType),
    objectId: query.objectId,
    actor: query.actor,
    actorAccountId: undefined,
    connectionIds,
  };
}

function oneOf<Word extends string>(field: string, words: readonly Word[], text: string | undefined): Word | undefined {
  if (text === undefined) return undefined;
  const word = words.find((known) => known === text);
  if (word === undefined) throw invalid(field, `${field} must be one of ${words.join(", ")}.`);
  return word;
}

const CURSOR = /^(\d{1,15})\.(\d{1,16})$/;

function formatCursor({ occurredAt, id }: AuditPosition): string {
  return Buffer.from(`${occurredAt.getTime()}.${id}`).toString("base64url");
}

function parseCursor(cursor: string): AuditPosition {
  const [, occurredAt, id] = CURSOR.exec(Buffer.from(cursor.slice(0, 64), "base64url").toString("latin1")) ?? [];
  if (occurredAt !== undefined && id !== undefined) return { occurredAt: new Date(Number(occurredAt)), id: Number(id) };
  throw invalid("cursor", "cursor must be the next_cursor of an earlier response.");
}
