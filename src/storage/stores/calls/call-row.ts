import type { CallOutcome, StoredCall } from "../../../runtime/calls/call-record.ts";

/** A row of `call_record`, as `CALL_COLUMNS` selects it. */
export interface CallRow {
  account_id: string;
  id: number;
  connection_id: number;
  tool_name: string;
  client_id: string;
  started_at: Date;
  duration_ms: number;
  outcome: CallOutcome;
  request_bytes: number;
  response_bytes: number;
  contents_kept: boolean;
}

/** SQL that holds for a row of `call_contents` that may still be read, beside the `connection` that it belongs to. */
export const READABLE_CONTENTS = `call_contents.kept_until > now()
  and call_contents.started_at >= connection.keep_contents_since`;

/** What a call in the history is made of. */
export const CALL_COLUMNS = `call_record.account_id, call_record.id, call_record.connection_id, call_record.tool_name,
  call_record.client_id, call_record.started_at, call_record.duration_ms, call_record.outcome, call_record.request_bytes,
  call_record.response_bytes, exists (
    select 1 from call_contents
    join connection on connection.account_id = call_contents.account_id and connection.id = call_contents.connection_id
    where call_contents.account_id = call_record.account_id and call_contents.call_id = call_record.id
      and ${READABLE_CONTENTS}) as contents_kept`;

/** The call in a row, field by field. */
export function toKeptCall(row: CallRow): StoredCall {
  return {
    accountId: row.account_id,
    id: row.id,
    connectionId: row.connection_id,
    toolName: row.tool_name,
    clientId: row.client_id,
    startedAt: row.started_at,
    durationMs: row.duration_ms,
    outcome: row.outcome,
    requestBytes: row.request_bytes,
    responseBytes: row.response_bytes,
    areContentsKept: row.contents_kept,
  };
}
