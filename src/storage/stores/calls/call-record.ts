import type pg from "pg";
import type { CallRecord, CallRecordStore } from "../../../runtime/calls/call-record.ts";
import { appendCalls, type CallKind } from "../../statements/call-record.ts";

/** The history of calls in PostgreSQL. */
export function createCallRecordStore(pool: pg.Pool): CallRecordStore {
  return {
    async append(records) {
      await appendCalls(pool, toBatch(records));
    },
  };
}

/**
 * What calls have in common once, and a column for each number in which they differ: a row for each, as JSON, costs PostgreSQL
 * more to read than to keep, and the driver's own arrays cost us more to write than all the rest.
 */
function toBatch(records: readonly CallRecord[]) {
  const kinds = new Map<string, CallKind>();
  const numbers = records.map((record) => {
    const { accountId, connectionId, clientId, outcome, toolName } = record;
    const key = `${accountId} ${connectionId} ${clientId} ${outcome} ${toolName}`;
    const known = kinds.get(key);
    if (known !== undefined) return known.number;
    const names = { account_id: accountId, connection_id: connectionId, tool_name: toolName, client_id: clientId };
    const kind = { number: kinds.size, outcome, ...names };
    kinds.set(key, kind);
    return kind.number;
  });
  return {
    kinds: JSON.stringify([...kinds.values()]),
    numbers: toArray(numbers),
    startedAt: toArray(records.map(({ startedAt }) => startedAt.getTime())),
    durations: toArray(records.map(({ durationMs }) => durationMs)),
    requestBytes: toArray(records.map(({ requestBytes }) => requestBytes)),
    responseBytes: toArray(records.map(({ responseBytes }) => responseBytes)),
  };
}

function toArray(numbers: readonly number[]): string {
  return `{${numbers.join(",")}}`;
}
