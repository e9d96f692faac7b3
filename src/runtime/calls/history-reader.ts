import { type Principal, reachableSet, reaches } from "../../identity/principal.ts";
import type { Connection } from "../../connections/connection.ts";
import { connectionNotFound, reachableId } from "../../identity/server-id.ts";
import { DomainError, invalid } from "../../domain-error.ts";
import type { CallContentsReader, StoredCallContents } from "./call-contents.ts";
import {
  CALL_OUTCOMES,
  USAGE_KEYS,
  type CallFilter,
  type CallOutcome,
  type CallPosition,
  type CallRecordReader,
  type ConnectionUsage,
  type StoredCall,
  type UsageGroup,
  type UsageKey,
} from "./call-record.ts";

const DEFAULT_PAGE = 100;
const MAX_PAGE = 500;
const MAX_GROUPS = 1_000;
const DAY_MS = 86_400_000;
const DEFAULT_RANGE_MS = 7 * DAY_MS;
const MAX_RANGE_DAYS = 31;
/** The time range of `usageOfConnections`. */
const RECENT_MS = DAY_MS;

export interface CallQuery {
  readonly serverId?: string | undefined;
  readonly tool?: string | undefined;
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
}

export interface CallPageQuery extends CallQuery {
  readonly outcome?: string | undefined;
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

export interface UsageQuery extends CallQuery {
  /** Comma-separated keys; undefined means all keys. */
  readonly groupBy?: string | undefined;
}

/**
 * Reads the calls of a principal's connections; a bound token sees only its own connection. Throws `not_found` for a
 * connection that is missing, deleted, foreign or outside the token's binding.
 */
export interface CallHistoryReader {
  list(principal: Principal, query: CallPageQuery): Promise<{ calls: StoredCall[]; nextCursor: string | undefined }>;
  usage(principal: Principal, query: UsageQuery): Promise<{ groups: UsageGroup[]; hasMore: boolean }>;
  /** Returns the payloads of one call. Also throws `not_found` when they are not stored. */
  get(principal: Principal, serverId: string, callId: string): Promise<StoredCallContents>;
  /** Returns the usage of all visible connections, oldest first, with calls and errors of the last 24 hours. */
  usageOfConnections(principal: Principal): Promise<ConnectionUsage[]>;
}

export interface CallHistoryReaderDeps {
  readonly records: CallRecordReader;
  readonly contents: CallContentsReader;
  readonly connections: { find(accountId: string, id: number): Promise<Connection | undefined> };
  /** Returns milliseconds since 1970. */
  readonly now?: () => number;
}

export function createCallHistoryReader({
  records,
  contents,
  connections,
  now = Date.now,
}: CallHistoryReaderDeps): CallHistoryReader {
  async function connectionOf(principal: Principal, serverId: string | undefined): Promise<number | undefined> {
    if (serverId === undefined) return principal.connectionId;
    const id = reachableId(principal, serverId);
    if (id === undefined || (await connections.find(principal.accountId, id)) === undefined)
      throw connectionNotFound(serverId);
    return id;
  }

  return {
    async list(principal, query) {
      const { limit = DEFAULT_PAGE, tool } = query;
      if (limit < 1 || limit > MAX_PAGE) throw invalid("limit", `limit must be from 1 to ${MAX_PAGE}.`);
      const outcome = parseOutcome(query.outcome);
      const range = rangeOf(query);
      const before = query.cursor === undefined ? undefined : parseCursor(query.cursor);
      const connectionId = await connectionOf(principal, query.serverId);
      const filter: CallFilter = {
        connectionId,
        connectionIds: reachableSet(principal),
        toolName: tool,
        outcome,
        ...range,
      };
      const found = await records.page(principal.accountId, filter, before, limit + 1);
      const calls = found.slice(0, limit);
      const last = calls.at(-1);
      return { calls, nextCursor: found.length > limit && last !== undefined ? formatCursor(last) : undefined };
    },

    async usage(principal, query) {
      const keys = parseKeys(query.groupBy);
      const { from, to = new Date(now()) } = rangeOf(query);
      const start = from ?? new Date(to.getTime() - DEFAULT_RANGE_MS);
      const lengthMs = to.getTime() - start.getTime();
      // Without `until` the range ends now, which may be before `since`.
      if (lengthMs < 0) throw invalid("since", "since must not be after until.");
      if (lengthMs > MAX_RANGE_DAYS * DAY_MS)
        throw invalid("since", `since must be at most ${MAX_RANGE_DAYS} days before until.`);
      const connectionId = await connectionOf(principal, query.serverId);
      const connectionIds = reachableSet(principal);
      const filter: CallFilter = {
        ...{ connectionId, connectionIds, toolName: query.tool },
        ...{ outcome: undefined, from: start, to },
      };
      const { groups, groupCount } = await records.usage(principal.accountId, filter, keys, MAX_GROUPS);
      return { groups, hasMore: groupCount > groups.length };
    },

    async get(principal, serverId, callId) {
      const id = reachableId(principal, serverId);
      // Only the account itself makes calls that are stored; a member may not read the payloads of others.
      const mayRead = principal.memberId === undefined && CALL_ID.test(callId);
      const call = mayRead ? Number(callId) : undefined;
      const found =
        id === undefined || call === undefined ? undefined : await contents.find(principal.accountId, id, call);
      if (found !== undefined) return found;
      await connectionOf(principal, serverId);
      const shown = callId.slice(0, 64).replace(/[^\x20-\x7e]/g, "?");
      throw new DomainError("not_found", `The contents of call ${shown} are not stored.`);
    },

    usageOfConnections(principal) {
      const { accountId, connectionId } = principal;
      const own =
        connectionId === undefined ? reachableSet(principal) : [connectionId].filter((id) => reaches(principal, id));
      return records.usageOfConnections(accountId, own, new Date(now() - RECENT_MS));
    },
  };
}

function parseOutcome(text: string | undefined): CallOutcome | undefined {
  if (text === undefined) return undefined;
  const outcome = CALL_OUTCOMES.find((known) => known === text);
  if (outcome !== undefined) return outcome;
  throw invalid("outcome", `outcome must be one of ${CALL_OUTCOMES.join(", ")}.`);
}

function rangeOf({ since, until }: CallQuery): Pick<CallFilter, "from" | "to"> {
  if (since !== undefined && until !== undefined && since > until)
    throw invalid("since", "since must not be after until.");
  return { from: since, to: until };
}

function parseKeys(text: string | undefined): readonly UsageKey[] {
  if (text === undefined) return USAGE_KEYS;
  const words = text.split(",").map((word) => word.trim());
  const keys = USAGE_KEYS.filter((key) => words.includes(key));
  if (keys.length === words.length) return keys;
  throw invalid("group_by", `group_by must be any of ${USAGE_KEYS.join(", ")}, each once, separated by commas.`);
}

/** A call id, which is smaller than 2^53. */
const CALL_ID = /^[1-9]\d{0,14}$/;

const CURSOR = /^(\d{1,15})\.(\d{1,16})$/;

function formatCursor({ startedAt, id }: CallPosition): string {
  return Buffer.from(`${startedAt.getTime()}.${id}`).toString("base64url");
}

function parseCursor(cursor: string): CallPosition {
  const [, startedAt, id] = CURSOR.exec(Buffer.from(cursor.slice(0, 64), "base64url").toString("latin1")) ?? [];
  if (startedAt !== undefined && id !== undefined) return { startedAt: new Date(Number(startedAt)), id: Number(id) };
  throw invalid("cursor", "cursor must be the next_cursor of an earlier response.");
}
