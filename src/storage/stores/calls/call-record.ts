import type pg from "pg";
import type { CallRecord, CallRecordStore } from "../../../runtime/calls/call-record.ts";
import { runStatement } from "../run-statement.ts";

const APPEND = {
  name: "call_record_append",
  // The locks make a deletion wait for this statement, or this statement see the deletion: no record outlives its connection.
  text: `with kind as (
      select * from json_to_recordset($1::json) as kind (
        number integer, account_id text, connection_id integer, tool_name text, client_id text, outcome text
      )
    ),
    living as (
      select account_id, id from connection
      where (account_id, id) in (select account_id, connection_id from kind)
      order by account_id, id for key share
    )
    insert into call_record (
      account_id, connection_id, tool_name, client_id, started_at, duration_ms, outcome, request_bytes, response_bytes
    )
    select kind.account_id, connection_id, tool_name, client_id, to_timestamp(started_at_ms / 1000), duration_ms, outcome,
      request_bytes, response_bytes
    from unnest($2::integer[], $3::double precision[], $4::integer[], $5::integer[], $6::integer[]) with ordinality
      as called (number, started_at_ms, duration_ms, request_bytes, response_bytes, place)
    join kind using (number) join living on living.account_id = kind.account_id and living.id = connection_id
    order by place`,
};

/** The history of calls in PostgreSQL. */
export function createCallRecordStore(pool: pg.Pool): CallRecordStore {
  return {
    async append(records) {
      await runStatement(pool, { ...APPEND, values: toValues(records) });
    },
  };
}

/**
 * What calls have in common once, and a column for each number in which they differ: a row for each, as JSON, costs PostgreSQL
 * more to read than to keep, and the driver's own arrays cost us more to write than all the rest.
 */
function toValues(records: readonly CallRecord[]): readonly string[] {
  const kinds = new Map<string, { readonly number: number }>();
  const numbers = records.map((record) => {
    const { accountId, connectionId, clientId, outcome, toolName } = record;
    const key = `${accountId} ${connectionId} ${clientId} ${outcome} ${toolName}`;
    const known = kinds.get(key);
    if (known !== undefined) return known.number;
    const kind = { number: kinds.size, ...toKindRow(record) };
    kinds.set(key, kind);
    return kind.number;
  });
  return [
    JSON.stringify([...kinds.values()]),
    toArray(numbers),
    toArray(records.map(({ startedAt }) => startedAt.getTime())),
    toArray(records.map(({ durationMs }) => durationMs)),
    toArray(records.map(({ requestBytes }) => requestBytes)),
    toArray(records.map(({ responseBytes }) => responseBytes)),
  ];
}

function toArray(numbers: readonly number[]): string {
  return `{${numbers.join(",")}}`;
}

/** What calls may have in common, as a row of JSON. */
export function toKindRow(record: CallRecord): object {
  return {
    account_id: record.accountId,
    connection_id: record.connectionId,
    tool_name: record.toolName,
    client_id: record.clientId,
    outcome: record.outcome,
  };
}
