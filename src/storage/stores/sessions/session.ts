import type pg from "pg";
import { LOG_LEVELS } from "../../../integrations/relay.ts";
import type { Peer, McpSession } from "../../../runtime/sessions/session.ts";
import type { SessionStore } from "../../../runtime/sessions/session-store.ts";
import { transaction } from "../../transaction.ts";
import { runStatement } from "../run-statement.ts";

interface Statement {
  readonly name: string;
  readonly text: string;
}

/** `bare_names` holds connection ids by tool id, so that `||` merges claims in one statement and the first owner wins. */
type BareNames = Readonly<Record<string, number>>;

interface SessionRow {
  readonly account_id: string;
  readonly id: string;
  readonly client_id: string;
  readonly connection_id: number | null;
  readonly grant_id: string | null;
  readonly protocol_version: string;
  readonly client_info: Peer;
  readonly called_connection_ids: readonly number[];
  readonly bare_names: BareNames;
  readonly log_level: string | null;
  readonly resource_uris: readonly string[];
  readonly version: string;
}

// A row's transaction id changes with every update of the row.
const COLUMNS = `session.account_id, session.id, session.client_id, session.connection_id, session.grant_id,
  session.protocol_version, session.client_info, session.called_connection_ids, session.bare_names, session.log_level, session.resource_uris,
  session.xmin::text as version`;

const FIND = {
  name: "session_find",
  // What the caller knows already does not travel again.
  text: `select client_id, connection_id, grant_id, protocol_version, xmin::text as version,
      case when xmin::text <> $4 then client_info end as client_info,
      case when xmin::text <> $4 then called_connection_ids end as called_connection_ids,
      case when xmin::text <> $4 then bare_names end as bare_names,
      case when xmin::text <> $4 then log_level end as log_level,
      case when xmin::text <> $4 then resource_uris end as resource_uris,
      extract(epoch from now() - last_used_at)::float8 * 1000 as idle_ms
    from session
    where account_id = $1 and id = $2 and last_used_at > now() - make_interval(secs => $3)`,
};

const CLAIM = {
  name: "session_claim",
  // The lock on the connection makes a deletion wait for this claim, and then end the session, or this claim see the deletion.
  text: `with called as (select id from connection where account_id = $1 and id = $4 for key share)
    update session set
      bare_names = $3::jsonb || bare_names,
      called_connection_ids = case
        when $4::integer is null or $4 = any (called_connection_ids) then called_connection_ids
        else array_append(called_connection_ids, $4)
      end,
      last_used_at = now()
    where account_id = $1 and id = $2 and ($4::integer is null or exists (select from called))
    returning ${COLUMNS}`,
};

const KEEP = {
  name: "session_keep",
  text: `update session set
      log_level = coalesce($3, log_level),
      resource_uris = case
        when $4::text is null or $4 = any (resource_uris) then array_remove(resource_uris, $5)
        else array_append(resource_uris, $4)
      end,
      last_used_at = now()
    where account_id = $1 and id = $2
    returning ${COLUMNS}`,
};

const AMONG = {
  name: "session_among",
  text: `select ${COLUMNS} from unnest($1::text[], $2::text[]) as wanted (account_id, id)
    join session using (account_id, id)`,
};

const TOUCH = {
  name: "session_touch",
  text: "update session set last_used_at = now() where account_id = $1 and id = $2",
};

const END = { name: "session_end", text: "delete from session where account_id = $1 and id = $2" };

const END_IDLE = {
  name: "session_end_idle",
  text: `with due as (
      select account_id, id, last_used_at > now() - make_interval(secs => $1) as is_used from session
      where idle_since <= now() - make_interval(secs => $1)
      order by idle_since limit $2 for update skip locked
    ),
    kept as (
      update session set idle_since = last_used_at from due
      where session.account_id = due.account_id and session.id = due.id and is_used
    ),
    ended as (
      delete from session using due where session.account_id = due.account_id and session.id = due.id and not is_used
      returning 1
    )
    select (select count(*) from due) as looked_at, (select count(*) from ended) as ended`,
};

const LOCK_ACCOUNT = {
  name: "session_lock_account",
  text: "select from account where id = $1 and disabled_at is null for no key update",
};

const COUNT_OF_OTHERS = {
  name: "session_count_of_others",
  text: `select count(*)::integer as count from session
    where account_id = $1 and client_id <> $2 and last_used_at > now() - make_interval(secs => $3)`,
};

const END_LONGEST_IDLE_OF_CLIENT = {
  name: "session_end_longest_idle_of_client",
  text: `delete from session where account_id = $1 and id in (
      select id from session where account_id = $1 and client_id = $2 order by last_used_at desc, created_at desc, id offset $3
    )`,
};

const INSERT = {
  name: "session_insert",
  text: `insert into session (account_id, id, client_id, connection_id, protocol_version, client_info, grant_id)
    values ($1, $2, $3, $4, $5, $6, $7) returning ${COLUMNS}`,
};

/** Sessions in PostgreSQL, by named prepared statements. */
export function createSessionStore(pool: pg.Pool): SessionStore {
  const run = <Row extends pg.QueryResultRow>(statement: Statement, values: unknown[]) =>
    runStatement<Row>(pool, { ...statement, values });

  return {
    open: (session, limit, idleSeconds) =>
      transaction(pool, async (client) => {
        const { accountId, id, clientId, connectionId, grantId, protocolVersion, clientInfo } = session;
        // One opening at a time, so that the limit holds; a disabled account opens nothing.
        const account = await client.query({ ...LOCK_ACCOUNT, values: [accountId] });
        if (account.rowCount === 0) return undefined;
        const others = await client.query<{ count: number }>({
          ...COUNT_OF_OTHERS,
          values: [accountId, clientId, idleSeconds],
        });
        const left = limit - (others.rows[0]?.count ?? 0);
        if (left < 1) return "full";
        await client.query({ ...END_LONGEST_IDLE_OF_CLIENT, values: [accountId, clientId, left - 1] });
        const peer = JSON.stringify(clientInfo);
        const values = [accountId, id, clientId, connectionId ?? null, protocolVersion, peer, grantId ?? null];
        const { rows } = await client.query<SessionRow>({ ...INSERT, values });
        return rows[0] && toSession(rows[0]);
      }),

    async find(accountId, id, idleSeconds, known) {
      const values = [accountId, id, idleSeconds, known?.version ?? ""];
      const { rows } = await run<SessionRow & { idle_ms: number }>(FIND, values);
      const row = rows[0];
      if (row === undefined) return undefined;
      if (row.version === known?.version) return { session: known, idleMs: row.idle_ms };
      return { session: toSession({ ...row, account_id: accountId, id }), idleMs: row.idle_ms };
    },

    async touch(accountId, id) {
      await run(TOUCH, [accountId, id]);
    },

    async claim(accountId, id, { bareNameOwners, calledConnectionId }) {
      const names = JSON.stringify(Object.fromEntries(bareNameOwners));
      const { rows } = await run<SessionRow>(CLAIM, [accountId, id, names, calledConnectionId ?? null]);
      return rows[0] && toSession(rows[0]);
    },

    async update(accountId, id, { logLevel, subscribe, unsubscribe }) {
      const values = [accountId, id, logLevel ?? null, subscribe ?? null, unsubscribe ?? null];
      const { rows } = await run<SessionRow>(KEEP, values);
      return rows[0] && toSession(rows[0]);
    },

    async findAll(sessions) {
      const known = new Map(sessions.map((session) => [session.id, session]));
      const values = [sessions.map(({ accountId }) => accountId), sessions.map(({ id }) => id)];
      const { rows } = await run<SessionRow>(AMONG, values);
      return new Map(
        rows.map((row) => {
          const session = known.get(row.id);
          return [row.id, session?.version === row.version ? session : toSession(row)];
        }),
      );
    },

    async end(accountId, id) {
      const { rowCount } = await run(END, [accountId, id]);
      return rowCount === 1;
    },

    async endIdle(idleSeconds, limit) {
      for (;;) {
        const { rows } = await run<{ looked_at: number; ended: number }>(END_IDLE, [idleSeconds, limit]);
        const { looked_at: lookedAt, ended } = rows[0] ?? { looked_at: 0, ended: 0 };
        if (ended > 0 || lookedAt < limit) return ended;
      }
    },
  };
}

function toSession(row: SessionRow): McpSession {
  return {
    accountId: row.account_id,
    id: row.id,
    clientId: row.client_id,
    connectionId: row.connection_id ?? undefined,
    grantId: row.grant_id ?? undefined,
    protocolVersion: row.protocol_version,
    clientInfo: { name: row.client_info.name, version: row.client_info.version },
    calledConnectionIds: new Set(row.called_connection_ids),
    bareNameOwners: new Map(Object.entries(row.bare_names).map(([toolId, owner]) => [Number(toolId), owner])),
    logLevel: LOG_LEVELS.find((level) => level === row.log_level),
    resourceUris: new Set(row.resource_uris),
    version: row.version,
  };
}
