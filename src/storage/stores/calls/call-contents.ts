import { type EntityManager, LockMode } from "@mikro-orm/postgresql";
import {
  type CallContentsReader,
  type CallContentsStore,
  type CallWithContents,
  parseContents,
} from "../../../runtime/calls/call-contents.ts";
import { CallContentsEntity } from "../../entities/calls/call-contents.ts";
import { ConnectionEntity } from "../../entities/connections/connection.ts";
import { inTransaction, type Orm, tablesOf, withEntities } from "../../orm.ts";
import type { SealedPlace, Sealer } from "../../sealing.ts";
import { isReadable, selectCalls } from "./call-record-reader.ts";

/** Maximum number of calls per statement: each may have 128 KiB of contents. */
const BATCH = 50;

const DAY_MS = 86_400_000;

/** The location to which encryption binds the contents of a call. */
export function contentsPlace(accountId: string, callId: number): SealedPlace {
  return { table: "call_contents", column: "sealed", accountId, rowId: callId };
}

/**
 * Stores the contents of calls in PostgreSQL, encrypted. `historyDays` limits their retention, since the history drops
 * a call after that time.
 */
export function createCallContentsStore(deps: {
  readonly orm: Orm;
  readonly sealer: Sealer;
  readonly historyDays: number;
}): CallContentsStore {
  const { orm, sealer, historyDays } = deps;

  async function appendBatch(em: EntityManager, records: readonly CallWithContents[]): Promise<void> {
    // The locks order this insert and a concurrent deletion or change of retention, so that one of them sees the other.
    const connections = await em.find(
      ConnectionEntity,
      { $or: records.map(({ accountId, connectionId }) => ({ accountId, id: connectionId })) },
      {
        fields: ["keepContentsDays", "keepContentsSince"],
        orderBy: { accountId: "asc", id: "asc" },
        lockMode: LockMode.PESSIMISTIC_READ,
        refresh: true,
      },
    );
    const living = new Map(connections.map((each) => [keyOf(each.accountId, each.id), each]));
    const called = records.filter(({ accountId, connectionId }) => living.has(keyOf(accountId, connectionId)));
    if (called.length === 0) return;
    const ids = await tablesOf(em).insertInto("call_record").values(called.map(toRow)).returning("id").execute();
    const contents = called.flatMap(({ accountId, connectionId, startedAt, contents: text }, index) => {
      const callId = ids[index]?.id;
      const { keepContentsDays: days = 0, keepContentsSince: since } = living.get(keyOf(accountId, connectionId)) ?? {};
      if (callId === undefined || days === 0 || !since || startedAt < since) return [];
      const keptUntil = new Date(startedAt.getTime() + Math.min(days, historyDays) * DAY_MS);
      const sealed = sealer.seal(text, contentsPlace(accountId, callId));
      return [{ accountId, callId, connectionId, startedAt, keptUntil, sealed }];
    });
    if (contents.length > 0) await em.insertMany(CallContentsEntity, contents);
  }

  return {
    append: (records) =>
      // One transaction, because a failed batch is retried as a whole.
      inTransaction(orm, async (em) => {
        for (let start = 0; start < records.length; start += BATCH)
          await appendBatch(em, records.slice(start, start + BATCH));
      }),
  };
}

function keyOf(accountId: string, connectionId: number): string {
  return `${accountId} ${connectionId}`;
}

function toRow({
  accountId,
  connectionId,
  toolName,
  clientId,
  startedAt,
  durationMs,
  outcome,
  ...sizes
}: CallWithContents) {
  return {
    ...{ account_id: accountId, connection_id: connectionId, tool_name: toolName, client_id: clientId, outcome },
    ...{ started_at: startedAt, duration_ms: durationMs },
    ...{ request_bytes: sizes.requestBytes, response_bytes: sizes.responseBytes },
  };
}

/** Reads the contents of calls; see `CallContentsReader`. */
export function createCallContentsReader(orm: Orm, sealer: Sealer): CallContentsReader {
  return {
    find: (accountId, connectionId, callId) =>
      withEntities(orm, async (em) => {
        const row = await selectCalls(tablesOf(em))
          .innerJoin("call_contents", (join) =>
            join
              .onRef("call_contents.account_id", "=", "call_record.account_id")
              .onRef("call_contents.started_at", "=", "call_record.started_at")
              .onRef("call_contents.call_id", "=", "call_record.id"),
          )
          .innerJoin("connection", (join) =>
            join
              .onRef("connection.account_id", "=", "call_contents.account_id")
              .onRef("connection.id", "=", "call_contents.connection_id"),
          )
          .select(["call_contents.sealed", "call_contents.kept_until as keptUntil"])
          .where(({ and }) =>
            and({
              "call_contents.account_id": accountId,
              "call_contents.connection_id": connectionId,
              "call_contents.call_id": callId,
            }),
          )
          .where(isReadable)
          .executeTakeFirst();
        if (row === undefined) return undefined;
        const { sealed, keptUntil, ...call } = row;
        const contents = parseContents(sealer.open(sealed, contentsPlace(accountId, callId)));
        return { call, contents, keptUntil };
      }),
  };
}
