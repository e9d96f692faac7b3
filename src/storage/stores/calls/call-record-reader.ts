import type pg from "pg";
import {
  CALL_OUTCOMES,
  type CallFilter,
  type CallOutcome,
  type CallPosition,
  type CallRecordReader,
  type StoredCall,
  type UsageGroup,
  type UsageKey,
} from "../../../runtime/calls/call-record.ts";
import { CALL_COLUMNS, type CallRow, toKeptCall } from "./call-row.ts";
import { runStatement } from "../run-statement.ts";

type UsageRow = { readonly [outcome in CallOutcome]: number } & {
  readonly connection_id: number | null;
  readonly tool_name: string | null;
  readonly day: string | null;
  readonly calls: number;
  /** How many groups there are in all. */
  readonly group_count: number;
  readonly latency: readonly number[] | null;
};

/** Of connections that exist: the rows of a deleted one are unreadable at once, and purged later. */
const READABLE = `account_id = $1
  and connection_id in (select connection.id from connection where connection.account_id = $1)`;

/** The same as a filter: as a join it has PostgreSQL read and sort whole days, since it expects few rows of it. */
const READABLE_ONE_BY_ONE = `account_id = $1
  and (connection_id in (select connection.id from connection where connection.account_id = $1)) is true`;

const GROUPED: Readonly<Record<UsageKey, string>> = {
  connection: "connection_id",
  tool: "tool_name",
  day: "to_char(started_at at time zone 'UTC', 'YYYY-MM-DD')",
};
const ALIASES: Readonly<Record<UsageKey, string>> = { connection: "connection_id", tool: "tool_name", day: "day" };

/** In most accounts most connections were used lately: only for the others is the history searched. */
const CONNECTION_USAGE = {
  name: "call_record_connection_usage",
  text: `with recent as (
      select connection_id, count(*) as calls, count(*) filter (where outcome in ('tool_error', 'upstream_error')) as errors,
        max(started_at) as last_called_at
      from call_record where account_id = $1 and started_at >= $2 group by connection_id
    )
    select id, coalesce(calls, 0) as calls, coalesce(errors, 0) as errors, coalesce(last_called_at, (
        select started_at from call_record
        where call_record.account_id = $1 and call_record.connection_id = connection.id
        order by started_at desc limit 1)) as last_called_at
    from connection left join recent on recent.connection_id = connection.id
    where connection.account_id = $1 and ($3::integer[] is null or connection.id = any ($3)) order by id`,
};

interface ConnectionUsageRow {
  readonly id: number;
  readonly calls: number;
  readonly errors: number;
  readonly last_called_at: Date | null;
}

/** The history of calls in PostgreSQL. On the pool, because counting a month may take its time. */
export function createCallRecordReader(pool: pg.Pool): CallRecordReader {
  async function readPage(accountId: string, { filter, before }: Stretch, limit: number): Promise<StoredCall[]> {
    const { text, values } = conditions(READABLE_ONE_BY_ONE, accountId, filter, before);
    values.push(limit);
    const { rows } = await runStatement<CallRow>(pool, {
      name: `call_record_page_${filterName(filter)}${before === undefined ? "" : "_before"}`,
      text: `select ${CALL_COLUMNS} from call_record where ${text} order by started_at desc, id desc limit $${values.length}`,
      values,
    });
    return rows.map(toKeptCall);
  }

  return {
    async page(accountId, filter, before, limit) {
      const page: StoredCall[] = [];
      for (const stretch of stretches(filter, before, new Date())) {
        page.push(...(await readPage(accountId, stretch, limit - page.length)));
        if (page.length === limit) break;
      }
      return page;
    },

    async usage(accountId, filter, keys, limit) {
      const { text, values } = conditions(READABLE, accountId, filter, undefined);
      values.push(limit);
      const columns = (["day", "connection", "tool"] as const).map((key) =>
        keys.includes(key) ? `${GROUPED[key]} as ${ALIASES[key]}` : `null as ${ALIASES[key]}`,
      );
      const groups = keys.length === 0 ? "" : `group by ${keys.map((key) => GROUPED[key]).join(", ")}`;
      const counts = CALL_OUTCOMES.map((outcome) => `count(*) filter (where outcome = '${outcome}') as ${outcome}`);
      const { rows } = await runStatement<UsageRow>(pool, {
        name: `call_record_usage_${filterName(filter)}_by_${keys.join("_")}`,
        text: `select * from (
            select ${columns.join(", ")}, count(*) as calls, count(*) over () as group_count, ${counts.join(", ")},
              percentile_disc(array[0.5, 0.95, 0.99]) within group (order by duration_ms)
                filter (where outcome <> 'refused') as latency
            from call_record where ${text} ${groups} order by count(*) desc limit $${values.length}
          ) busiest order by day, connection_id, tool_name`,
        values,
      });
      return { groups: rows.map(toUsageGroup), groupCount: rows[0]?.group_count ?? 0 };
    },

    async usageOfConnections(accountId, connectionIds, since) {
      const values = [accountId, since, connectionIds === undefined ? null : [...connectionIds]];
      const { rows } = await runStatement<ConnectionUsageRow>(pool, { ...CONNECTION_USAGE, values });
      return rows.map(({ id, calls, errors, last_called_at }) => ({
        connectionId: id,
        calls,
        errors,
        lastCalledAt: last_called_at ?? undefined,
      }));
    },
  };
}

const DAY_MS = 86_400_000;
/** How many whole days back, from the newest one asked for, each stretch of a page's search reaches; the last has no end. */
const STRETCH_DAYS = [0, 3];

/** A part of the history that is searched by one statement. */
interface Stretch {
  readonly filter: CallFilter;
  readonly before: CallPosition | undefined;
}

/** The history from new to old in stretches of whole days, so that a page opens only the partitions that it needs. */
function* stretches(filter: CallFilter, before: CallPosition | undefined, now: Date): Generator<Stretch> {
  const newest = Math.min(now.getTime(), filter.to?.getTime() ?? Infinity, before?.startedAt.getTime() ?? Infinity);
  let rest: Stretch = { filter, before };
  for (const days of STRETCH_DAYS) {
    const from = new Date((Math.floor(newest / DAY_MS) - days) * DAY_MS);
    if (filter.from !== undefined && from <= filter.from) break;
    yield { ...rest, filter: { ...rest.filter, from } };
    rest = { filter: { ...filter, to: from }, before: undefined };
  }
  yield rest;
}

const FILTERS: readonly (readonly [key: keyof CallFilter, column: string, operator: string])[] = [
  ["connectionId", "connection_id", "="],
  ["connectionIds", "connection_id", "any"],
  ["toolName", "tool_name", "="],
  ["outcome", "outcome", "="],
  ["from", "started_at", ">="],
  ["to", "started_at", "<"],
];

/** Only what is asked for becomes part of the statement, so that each shape has its own plan; there are 128 of them. */
function conditions(readable: string, accountId: string, filter: CallFilter, before: CallPosition | undefined) {
  const values: unknown[] = [accountId];
  const parts = [readable];
  for (const [key, column, operator] of FILTERS) {
    const value = filter[key];
    if (value === undefined) continue;
    const position = values.push(value instanceof Set ? [...value] : value);
    parts.push(operator === "any" ? `${column} = any ($${position})` : `${column} ${operator} $${position}`);
  }
  if (before !== undefined) {
    const [startedAt, id] = [values.push(before.startedAt), values.push(before.id)];
    // The first comparison alone tells PostgreSQL which partitions it need not open.
    parts.push(`started_at <= $${startedAt} and (started_at, id) < ($${startedAt}, $${id})`);
  }
  return { text: parts.join(" and "), values };
}

function filterName(filter: CallFilter): string {
  return FILTERS.flatMap(([key]) => (filter[key] === undefined ? [] : key.toLowerCase())).join("_");
}

function toUsageGroup(row: UsageRow): UsageGroup {
  const [p50, p95, p99] = row.latency ?? [];
  return {
    connectionId: row.connection_id ?? undefined,
    toolName: row.tool_name ?? undefined,
    day: row.day ?? undefined,
    calls: row.calls,
    outcomes: {
      ok: row.ok,
      tool_error: row.tool_error,
      upstream_error: row.upstream_error,
      refused: row.refused,
      cancelled: row.cancelled,
    },
    latencyMs: p50 === undefined || p95 === undefined || p99 === undefined ? undefined : { p50, p95, p99 },
  };
}
