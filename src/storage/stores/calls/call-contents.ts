import type pg from "pg";
import {
  type CallContentsReader,
  type CallContentsStore,
  type CallWithContents,
  parseContents,
} from "../../../runtime/calls/call-contents.ts";
import type { SealedPlace, Sealer } from "../../sealing.ts";
import { transaction } from "../../transaction.ts";
import { toKindRow } from "./call-record.ts";
import { CALL_COLUMNS, type CallRow, READABLE_CONTENTS, toKeptCall } from "./call-row.ts";
import { runStatement } from "../run-statement.ts";

/** Calls written by one statement: each may bring 128 KiB of contents. */
const BATCH = 50;

const NUMBERS = {
  name: "call_contents_numbers",
  text: `select nextval(pg_get_serial_sequence('call_record', 'id')) as id from generate_series(1, $1)`,
};

const APPEND = {
  name: "call_contents_append",
  // The locks make a deletion, and a change of how long contents are kept, wait for this statement, or this statement see it.
  text: `with called as (
      select account_id, id, connection_id, tool_name, client_id, to_timestamp(started_at_ms / 1000) as started_at,
        duration_ms, outcome, request_bytes, response_bytes, decode(sealed, 'base64') as sealed
      from json_to_recordset($1::json) as record (
        account_id text, id bigint, connection_id integer, tool_name text, client_id text, started_at_ms double precision,
        duration_ms integer, outcome text, request_bytes integer, response_bytes integer, sealed text
      )
    ),
    living as (
      select account_id, id, keep_contents_days, keep_contents_since from connection
      where (account_id, id) in (select account_id, connection_id from called)
      order by account_id, id for share
    ),
    recorded as (
      insert into call_record (
        account_id, id, connection_id, tool_name, client_id, started_at, duration_ms, outcome, request_bytes, response_bytes
      ) overriding system value
      select account_id, called.id, connection_id, tool_name, client_id, started_at, duration_ms, outcome, request_bytes,
        response_bytes
      from called join living using (account_id) where living.id = called.connection_id
    )
    insert into call_contents (account_id, call_id, connection_id, started_at, kept_until, sealed)
    select account_id, called.id, connection_id, started_at,
      started_at + make_interval(days => least(keep_contents_days, $2::integer)), sealed
    from called join living using (account_id)
    where living.id = called.connection_id and keep_contents_days > 0 and started_at >= keep_contents_since`,
};

/** Where the contents of a call are sealed to. */
export function contentsPlace(accountId: string, callId: number): SealedPlace {
  return { table: "call_contents", column: "sealed", accountId, rowId: callId };
}

/** Contents of calls in PostgreSQL, sealed; `historyDays` bounds how long, since a call leaves the history after it. */
export function createCallContentsStore(deps: {
  readonly pool: pg.Pool;
  readonly sealer: Sealer;
  readonly historyDays: number;
}): CallContentsStore {
  const { pool, sealer, historyDays } = deps;

  async function appendBatch(client: pg.PoolClient, records: readonly CallWithContents[]): Promise<void> {
    const numbered = await runStatement<{ id: number }>(client, { ...NUMBERS, values: [records.length] });
    const rows = numbered.rows.flatMap(({ id }, index) => {
      const record = records[index];
      return record === undefined ? [] : toRow(sealer, record, id);
    });
    await runStatement(client, { ...APPEND, values: [JSON.stringify(rows), historyDays] });
  }

  return {
    append: (records) =>
      // All or nothing, because what fails is tried again as a whole.
      transaction(pool, async (client) => {
        for (let start = 0; start < records.length; start += BATCH)
          await appendBatch(client, records.slice(start, start + BATCH));
      }),
  };
}

function toRow(sealer: Sealer, record: CallWithContents, id: number): object {
  const sealed = sealer.seal(record.contents, contentsPlace(record.accountId, id)).toString("base64");
  return {
    ...toKindRow(record),
    id,
    started_at_ms: record.startedAt.getTime(),
    duration_ms: record.durationMs,
    request_bytes: record.requestBytes,
    response_bytes: record.responseBytes,
    sealed,
  };
}

interface ContentsRow extends CallRow {
  sealed: Buffer;
  kept_until: Date;
}

const FIND = {
  name: "call_contents_find",
  text: `select ${CALL_COLUMNS}, call_contents.sealed, call_contents.kept_until
    from call_contents
    join connection on connection.account_id = call_contents.account_id and connection.id = call_contents.connection_id
    join call_record on call_record.account_id = call_contents.account_id
      and call_record.started_at = call_contents.started_at and call_record.id = call_contents.call_id
    where call_contents.account_id = $1 and call_contents.connection_id = $2 and call_contents.call_id = $3
      and ${READABLE_CONTENTS}`,
};

/** Contents of calls to read; see `CallContentsReader`. */
export function createCallContentsReader(pool: pg.Pool, sealer: Sealer): CallContentsReader {
  return {
    async find(accountId, connectionId, callId) {
      const { rows } = await runStatement<ContentsRow>(pool, { ...FIND, values: [accountId, connectionId, callId] });
      const row = rows[0];
      if (row === undefined) return undefined;
      const contents = parseContents(sealer.open(row.sealed, contentsPlace(accountId, callId)));
      return { call: toKeptCall(row), contents, keptUntil: row.kept_until };
    },
  };
}
