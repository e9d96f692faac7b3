import { type Expression, type ExpressionBuilder, type Kysely, type RawBuilder, type SqlBool, sql } from "kysely";
import {
  CALL_OUTCOMES,
  type CallFilter,
  type CallOutcome,
  type CallPosition,
  type CallRecordReader,
  type StoredCall,
  type UsageKey,
} from "../../../runtime/calls/call-record.ts";
import { type Orm, type Tables, tablesOf, withEntities } from "../../orm.ts";

/** Whether the contents may still be read. Requires the alias `connection` for the connection of the call. */
export const isReadable = sql<boolean>`call_contents.kept_until > now()
  and call_contents.started_at >= connection.keep_contents_since`;

/** Selects calls in the format of the history. */
export function selectCalls(tables: Kysely<Tables>) {
  return tables.selectFrom("call_record").select([
    "call_record.account_id as accountId",
    "call_record.id",
    "call_record.connection_id as connectionId",
    "call_record.tool_name as toolName",
    "call_record.client_id as clientId",
    "call_record.started_at as startedAt",
    "call_record.duration_ms as durationMs",
    "call_record.outcome",
    "call_record.request_bytes as requestBytes",
    "call_record.response_bytes as responseBytes",
    ({ exists, selectFrom }) =>
      exists(
        selectFrom("call_contents")
          .innerJoin("connection", (join) =>
            join
              .onRef("connection.account_id", "=", "call_contents.account_id")
              .onRef("connection.id", "=", "call_contents.connection_id"),
          )
          .select("call_id")
          .whereRef("call_contents.account_id", "=", "call_record.account_id")
          .whereRef("call_contents.call_id", "=", "call_record.id")
          .where(isReadable),
      )
        .$castTo<boolean>()
        .as("areContentsKept"),
  ]);
}

/** The columns that usage is grouped by; null for a key that is not used for grouping. */
const GROUPED = {
  day: sql<string | null>`to_char(started_at at time zone 'UTC', 'YYYY-MM-DD')`,
  connection: sql<number | null>`connection_id`,
  tool: sql<string | null>`tool_name`,
} satisfies Record<UsageKey, RawBuilder<unknown>>;

function countOf(...outcomes: readonly CallOutcome[]) {
  return sql<number>`count(*) filter (where outcome in (${sql.join(outcomes.map((outcome) => sql.lit(outcome)))}))`;
}

/** The history of calls in PostgreSQL, on the main pool, because counting a month can be slow. */
export function createCallRecordReader(orm: Orm): CallRecordReader {
  function readPage(accountId: string, { filter, before }: Stretch, limit: number): Promise<StoredCall[]> {
    return withEntities(orm, (em) =>
      selectCalls(tablesOf(em))
        .where((eb) => eb.and([...conditions(eb, accountId, filter, before)]))
        // A filter, because a join makes PostgreSQL underestimate the rows and read and sort whole days.
        .where((eb) => sql<boolean>`(${isOfConnection(eb, accountId)}) is true`)
        .orderBy("call_record.started_at", "desc")
        .orderBy("call_record.id", "desc")
        .limit(limit)
        .execute(),
    );
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
      const keyOf = <Value>(key: UsageKey, expression: RawBuilder<Value | null>) =>
        keys.includes(key) ? expression : sql<Value | null>`null`;
      const rows = await withEntities(orm, (em) =>
        tablesOf(em)
          .selectFrom(({ selectFrom }) =>
            selectFrom("call_record")
              .select([
                keyOf("day", GROUPED.day).as("day"),
                keyOf("connection", GROUPED.connection).as("connectionId"),
                keyOf("tool", GROUPED.tool).as("toolName"),
                sql<number>`count(*)`.as("calls"),
                sql<number>`count(*) over ()`.as("groupCount"),
                ...CALL_OUTCOMES.map((outcome) => countOf(outcome).as(outcome)),
                sql<number[] | null>`percentile_disc(array[0.5, 0.95, 0.99]) within group (order by duration_ms)
                  filter (where outcome <> 'refused')`.as("latency"),
              ])
              .where((eb) => eb.and([...conditions(eb, accountId, filter, undefined), isOfConnection(eb, accountId)]))
              .$if(keys.length > 0, (query) => query.groupBy(keys.map((key) => GROUPED[key])))
              .orderBy(sql`count(*)`, "desc")
              .limit(limit)
              .as("busiest"),
          )
          .selectAll()
          .orderBy("day")
          .orderBy("connectionId")
          .orderBy("toolName")
          .execute(),
      );
      const groups = rows.map(({ day, connectionId, toolName, calls, latency, groupCount: _, ...outcomes }) => {
        const [p50, p95, p99] = latency ?? [];
        const latencyMs = p50 === undefined || p95 === undefined || p99 === undefined ? undefined : { p50, p95, p99 };
        const key = { day: day ?? undefined, connectionId: connectionId ?? undefined, toolName: toolName ?? undefined };
        return { ...key, calls, outcomes, latencyMs };
      });
      return { groups, groupCount: rows[0]?.groupCount ?? 0 };
    },

    /**
     * Most accounts have used most of their connections recently, so only the other connections are looked up in the
     * history.
     */
    async usageOfConnections(accountId, connectionIds, since) {
      const rows = await withEntities(orm, (em) =>
        tablesOf(em)
          .with("recent", (recent) =>
            recent
              .selectFrom("call_record")
              .select(["connection_id", sql<number>`count(*)`.as("calls")])
              .select([countOf("tool_error", "upstream_error").as("errors"), sql<Date>`max(started_at)`.as("last")])
              .where("account_id", "=", accountId)
              .where("started_at", ">=", since)
              .groupBy("connection_id"),
          )
          .selectFrom("connection")
          .leftJoin("recent", "recent.connection_id", "connection.id")
          .select(({ fn, lit, ref, selectFrom }) => [
            "id as connectionId",
            fn.coalesce("calls", lit(0)).as("calls"),
            fn.coalesce("errors", lit(0)).as("errors"),
            fn
              .coalesce(
                ref("last"),
                selectFrom("call_record")
                  .select("started_at")
                  .where("call_record.account_id", "=", accountId)
                  .whereRef("call_record.connection_id", "=", "connection.id")
                  .orderBy("started_at", "desc")
                  .limit(1),
              )
              .as("last"),
          ])
          .where("connection.account_id", "=", accountId)
          .$if(connectionIds !== undefined, (query) =>
            query.where(sql<boolean>`id = any (${[...(connectionIds ?? [])]})`),
          )
          .orderBy("id")
          .execute(),
      );
      return rows.map(({ last, ...usage }) => ({ ...usage, lastCalledAt: last ?? undefined }));
    },
  };
}

const DAY_MS = 86_400_000;
/**
 * How many days before the newest requested day each time range of a page's search ends; the last range is unlimited.
 */
const STRETCH_DAYS = [0, 3];

/** A time range of the history that one statement searches. */
interface Stretch {
  readonly filter: CallFilter;
  readonly before: CallPosition | undefined;
}

/**
 * The history from newest to oldest in ranges of whole days, so that a page reads only the partitions that it needs.
 */
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

type CallBuilder = ExpressionBuilder<Tables, "call_record">;

/** Only existing connections: the rows of a deleted connection are hidden immediately and purged later. */
function isOfConnection({ eb, selectFrom }: CallBuilder, accountId: string) {
  const existing = selectFrom("connection").select("connection.id").where("connection.account_id", "=", accountId);
  return eb("call_record.connection_id", "in", existing);
}

function* conditions(
  eb: CallBuilder,
  accountId: string,
  { connectionId, connectionIds, toolName, outcome, from, to }: CallFilter,
  before: CallPosition | undefined,
): Iterable<Expression<SqlBool>> {
  yield eb("call_record.account_id", "=", accountId);
  if (connectionId !== undefined) yield eb("call_record.connection_id", "=", connectionId);
  if (connectionIds !== undefined) yield sql<boolean>`call_record.connection_id = any (${[...connectionIds]})`;
  if (toolName !== undefined) yield eb("call_record.tool_name", "=", toolName);
  if (outcome !== undefined) yield eb("call_record.outcome", "=", outcome);
  if (from !== undefined) yield eb("call_record.started_at", ">=", from);
  if (to !== undefined) yield eb("call_record.started_at", "<", to);
  if (before === undefined) return;
  const { startedAt, id } = before;
  // PostgreSQL needs the first comparison to exclude partitions.
  yield eb("call_record.started_at", "<=", startedAt);
  yield sql<boolean>`(call_record.started_at, call_record.id) < (${startedAt}, ${id})`;
}
