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
 * Values that calls share are sent once, and each differing number has its own array. One JSON row per call would cost
 * PostgreSQL more to parse than to store, and the driver's arrays would be the largest cost in this process.
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
