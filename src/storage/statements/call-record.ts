import { sql } from "kysely";
import type { CallRecord } from "../../runtime/calls/call-record.ts";
import { prepare } from "./prepare.ts";

/** The values that calls can share, as one row of the parameter `kinds`. */
export interface CallKind extends Pick<CallRecord, "outcome"> {
  readonly number: number;
  readonly account_id: string;
  readonly connection_id: number;
  readonly tool_name: string;
  readonly client_id: string;
}

interface CallNumbers {
  readonly number: number;
  readonly started_at_ms: number;
  readonly duration_ms: number;
  readonly request_bytes: number;
  readonly response_bytes: number;
  readonly place: number;
}

/** `kinds` is JSON; for each call, its kind and its numbers are the text of an array. */
type CallBatch = Readonly<
  Record<"kinds" | "numbers" | "startedAt" | "durations" | "requestBytes" | "responseBytes", string>
>;

/**
 * The locks order this insert and a concurrent deletion of the connection, so that no record outlives its connection.
 */
export const appendCalls = prepare("call_record_append", (tables, given: CallBatch) =>
  tables
    .with("kind", (kinds) =>
      kinds
        .selectFrom(
          sql<CallKind>`json_to_recordset(${given.kinds}::json)`.as<"given">(sql`given (
            number integer, account_id text, connection_id integer, tool_name text, client_id text, outcome text)`),
        )
        .selectAll(),
    )
    .with("living", (living) =>
      living
        .selectFrom("connection")
        .select(["account_id", "id"])
        .where(({ eb, refTuple, selectFrom }) => {
          const called = selectFrom("kind").select(["kind.account_id", "kind.connection_id"]);
          return eb(refTuple("account_id", "id"), "in", called.$asTuple("account_id", "connection_id"));
        })
        .orderBy("account_id")
        .orderBy("id")
        .forKeyShare(),
    )
    .insertInto("call_record")
    .columns([
      ...(["account_id", "connection_id", "tool_name", "client_id", "outcome"] as const),
      ...(["started_at", "duration_ms", "request_bytes", "response_bytes"] as const),
    ])
    .expression((calls) =>
      calls
        .selectFrom(
          sql<CallNumbers>`unnest(${given.numbers}::integer[], ${given.startedAt}::double precision[],
            ${given.durations}::integer[], ${given.requestBytes}::integer[], ${given.responseBytes}::integer[])
            with ordinality`.as<"call">(
            sql`call (number, started_at_ms, duration_ms, request_bytes, response_bytes, place)`,
          ),
        )
        .innerJoin("kind", "kind.number", "call.number")
        .innerJoin("living", (join) =>
          join.onRef("living.account_id", "=", "kind.account_id").onRef("living.id", "=", "kind.connection_id"),
        )
        .select(["kind.account_id", "kind.connection_id", "kind.tool_name", "kind.client_id", "kind.outcome"])
        .select(sql<Date>`to_timestamp(started_at_ms / 1000)`.as("started_at"))
        .select(["call.duration_ms", "call.request_bytes", "call.response_bytes"])
        .orderBy("call.place"),
    ),
);
