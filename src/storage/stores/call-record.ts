import type pg from "pg";
import type { CallRecord, CallRecordStore } from "../../runtime/call-record.ts";
import { runStatement } from "./run-statement.ts";

const APPEND = {
  name: "call_record_append",
  // The locks make a deletion wait for this statement, or this statement see the deletion: no record outlives its connection.
  text: `with called as (
      select * from unnest(
        $1::text[], $2::integer[], $3::text[], $4::text[], $5::timestamptz[], $6::integer[], $7::text[], $8::integer[], $9::integer[]
      ) as record (
        account_id, connection_id, tool_name, client_id, started_at, duration_ms, outcome, request_bytes, response_bytes
      )
    ),
    living as (
      select account_id, id from connection
      where (account_id, id) in (select account_id, connection_id from called)
      order by account_id, id for key share
    )
    insert into call_record (
      account_id, connection_id, tool_name, client_id, started_at, duration_ms, outcome, request_bytes, response_bytes
    )
    select called.* from called join living on living.account_id = called.account_id and living.id = called.connection_id`,
};

/** The history of calls in PostgreSQL. */
export function createCallRecordStore(pool: pg.Pool): CallRecordStore {
  return {
    async append(records) {
      await runStatement(pool, { ...APPEND, values: toColumns(records) });
    },
  };
}

/** One array a column, in the order of the statement. */
function toColumns(records: readonly CallRecord[]): unknown[] {
  return [
    records.map(({ accountId }) => accountId),
    records.map(({ connectionId }) => connectionId),
    records.map(({ toolName }) => toolName),
    records.map(({ clientId }) => clientId),
    records.map(({ startedAt }) => startedAt),
    records.map(({ durationMs }) => durationMs),
    records.map(({ outcome }) => outcome),
    records.map(({ requestBytes }) => requestBytes),
    records.map(({ responseBytes }) => responseBytes),
  ];
}
