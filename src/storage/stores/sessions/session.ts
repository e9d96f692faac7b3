import { type RawBuilder, sql, type UpdateObject } from "kysely";
import { LOG_LEVELS } from "../../../integrations/relay.ts";
import type { McpSession } from "../../../runtime/sessions/session.ts";
import type { SessionClaim, SessionStore } from "../../../runtime/sessions/session-store.ts";
import type { Database } from "../../database.ts";
import { SessionEntity } from "../../entities/sessions/session.ts";
import { type Tables, tablesOf, withEntities } from "../../orm.ts";
import {
  countSessionsOfOthers,
  endIdleSessions,
  endSurplusSessions,
  findSessions,
  findSessionVersion,
  insertSession,
  keepUsedSessions,
  lockAccountOfSessions,
  SESSION_COLUMNS,
  touchSession,
} from "../../statements/session.ts";
import { transaction } from "../../transaction.ts";

type SessionRow = Awaited<ReturnType<typeof findSessions>>["rows"][number];
type SessionData = UpdateObject<Tables, "session">;

const NOW = sql<Date>`now()`;

/** Adds a value to an array of distinct values. */
function appended<Value>(column: string, value: RawBuilder<Value>) {
  return sql<Value[]>`array_append(array_remove(${sql.ref(column)}, ${value}), ${value})`;
}

/** Sessions in PostgreSQL. */
export function createSessionStore({ orm, pool }: Pick<Database, "orm" | "pool">): SessionStore {
  async function findRows(keys: readonly Pick<McpSession, "accountId" | "id">[]): Promise<readonly SessionRow[]> {
    const given = { accountIds: keys.map(({ accountId }) => accountId), ids: keys.map(({ id }) => id) };
    return (await findSessions(pool, given)).rows;
  }

  async function change(accountId: string, id: string, data: SessionData, calledConnectionId?: number) {
    const row = await withEntities(orm, (em) =>
      tablesOf(em)
        .updateTable("session")
        .set({ ...data, last_used_at: NOW })
        .where(({ and }) => and({ account_id: accountId, id }))
        // The lock orders this claim and a concurrent deletion: the deletion ends the session, or the claim sees the
        // deletion.
        .where(({ and, exists, selectFrom }) => {
          const called = selectFrom("connection").select("id").where("account_id", "=", accountId);
          const isThere = calledConnectionId === undefined ? [] : [calledConnectionId];
          return and(isThere.map((connectionId) => exists(called.where("id", "=", connectionId).forKeyShare())));
        })
        .returning(SESSION_COLUMNS)
        .executeTakeFirst(),
    );
    return row && toSession(row);
  }

  return {
    open: (session, limit, idleSeconds) =>
      transaction(pool, async (client) => {
        // A disabled account cannot open sessions.
        if ((await lockAccountOfSessions(client, session)).rows.length === 0) return undefined;
        const others = await countSessionsOfOthers(client, { ...session, idleSeconds });
        const left = limit - (others.rows[0]?.count ?? 0);
        if (left < 1) return "full";
        await endSurplusSessions(client, { ...session, kept: left - 1 });
        const [row] = (await insertSession(client, session)).rows;
        return row && toSession(row);
      }),

    async find(accountId, id, idleSeconds, known) {
      const [found] = (await findSessionVersion(pool, { accountId, id, idleSeconds })).rows;
      if (found === undefined) return undefined;
      const { version, idleMs } = found;
      if (version === known?.version) return { session: known, idleMs };
      const [row] = await findRows([{ accountId, id }]);
      return row && { session: toSession(row), idleMs };
    },

    async touch(accountId, id) {
      await touchSession(pool, { accountId, id });
    },

    claim: (accountId, id, { bareNameOwners, aliasOwners, calledConnectionId }) =>
      change(
        accountId,
        id,
        {
          // `||` merges claims in one statement, and the first owner of a name wins.
          bare_names: sql`${printNames({ bareNameOwners, aliasOwners })}::jsonb || bare_names`,
          ...(calledConnectionId !== undefined && {
            called_connection_ids: appended<number>("called_connection_ids", sql`${calledConnectionId}::integer`),
          }),
        },
        calledConnectionId,
      ),

    update: (accountId, id, { introduction, logLevel, subscribe, unsubscribe }) =>
      change(accountId, id, {
        ...(introduction !== undefined && {
          protocol_version: introduction.protocolVersion,
          client_info: sql`${JSON.stringify(introduction.clientInfo)}::jsonb`,
          client_capabilities: sql`${JSON.stringify(introduction.clientCapabilities)}::jsonb`,
        }),
        ...(logLevel !== undefined && { log_level: logLevel }),
        ...(subscribe !== undefined && { resource_uris: appended<string>("resource_uris", sql`${subscribe}::text`) }),
        ...(unsubscribe !== undefined && {
          resource_uris: sql<string[]>`array_remove(resource_uris, ${unsubscribe}::text)`,
        }),
      }),

    async findAll(sessions) {
      const known = new Map(sessions.map((session) => [session.id, session]));
      const rows = await findRows(sessions);
      return new Map(
        rows.map((row) => {
          const session = known.get(row.id);
          return [row.id, session?.version === row.version ? session : toSession(row)];
        }),
      );
    },

    end: async (accountId, id) =>
      (await withEntities(orm, (em) => em.nativeDelete(SessionEntity, { accountId, id }))) === 1,

    async endIdle(idleSeconds, limit) {
      const batch = { idleSeconds, limit };
      while (((await keepUsedSessions(pool, batch)).rowCount ?? 0) >= limit);
      return (await endIdleSessions(pool, batch)).rowCount ?? 0;
    },
  };
}

/** The prefix of an alias in `bare_names`, which otherwise maps tool ids to connections. */
const ALIAS_MARK = "@";

function printNames({ bareNameOwners, aliasOwners }: Pick<SessionClaim, "bareNameOwners" | "aliasOwners">): string {
  const aliases = [...aliasOwners].map(([alias, owner]) => [ALIAS_MARK + alias, owner]);
  return JSON.stringify(Object.fromEntries([...bareNameOwners, ...aliases]));
}

function toSession(row: SessionRow): McpSession {
  const names = Object.entries(row.bareNames);
  const isAlias = ([key]: [string, number]): boolean => key.startsWith(ALIAS_MARK);
  return {
    ...row,
    memberId: row.memberId ?? undefined,
    connectionId: row.connectionId ?? undefined,
    grantId: row.grantId ?? undefined,
    clientInfo: { name: row.clientInfo.name, version: row.clientInfo.version },
    calledConnectionIds: new Set(row.calledConnectionIds),
    bareNameOwners: new Map(names.filter((each) => !isAlias(each)).map(([id, owner]) => [Number(id), owner])),
    aliasOwners: new Map(names.filter(isAlias).map(([key, owner]) => [key.slice(ALIAS_MARK.length), owner])),
    logLevel: LOG_LEVELS.find((level) => level === row.logLevel),
    resourceUris: new Set(row.resourceUris),
  };
}
