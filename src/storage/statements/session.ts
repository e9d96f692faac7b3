import { type Kysely, sql } from "kysely";
import type { NewSession } from "../../runtime/sessions/session-store.ts";
import type { Tables } from "../orm.ts";
import { named } from "./named.ts";
import { prepare } from "./prepare.ts";

interface SessionKey {
  readonly accountId: string;
  readonly id: string;
}

/** A row's transaction id, which changes with every update of the row. */
const VERSION = sql<string>`session.xmin::text`.as("version");

/** The columns of a session. */
export const SESSION_COLUMNS = [
  ...named(
    "accountId",
    "id",
    "memberId",
    "clientId",
    "connectionId",
    "grantId",
    "protocolVersion",
    "clientInfo",
    "clientCapabilities",
    "calledConnectionIds",
    "bareNames",
    "logLevel",
    "resourceUris",
  ),
  VERSION,
] as const;

/**
 * The version of a session that was used within `idleSeconds`. The other columns are omitted, since the caller has
 * cached them.
 */
export const findSessionVersion = prepare(
  "session_find",
  (tables, given: SessionKey & { readonly idleSeconds: number }) =>
    tables
      .selectFrom("session")
      .select([VERSION, sql<number>`extract(epoch from now() - last_used_at)::float8 * 1000`.as("idleMs")])
      .where(({ and }) => and({ account_id: given.accountId, id: given.id }))
      .where("last_used_at", ">", sql<Date>`now() - make_interval(secs => ${given.idleSeconds})`),
);

/** Finds sessions by two lists of equal length. */
export const findSessions = prepare(
  "session_among",
  (tables, given: { readonly accountIds: readonly string[]; readonly ids: readonly string[] }) =>
    tables
      .selectFrom("session")
      .select(SESSION_COLUMNS)
      .where(
        sql<boolean>`(account_id, id) in (select * from unnest(${given.accountIds}::text[], ${given.ids}::text[]))`,
      ),
);

export const touchSession = prepare("session_touch", (tables, given: SessionKey) =>
  tables
    .updateTable("session")
    .set({ last_used_at: sql`now()` })
    .where("account_id", "=", given.accountId)
    .where("id", "=", given.id),
);

interface IdleBatch {
  readonly idleSeconds: number;
  readonly limit: number;
}

/** Sessions whose indexed idle time has passed; some of them may have been used since. */
function due(tables: Kysely<Tables>, given: IdleBatch, comparison: ">" | "<=") {
  const limit = sql<Date>`now() - make_interval(secs => ${given.idleSeconds})`;
  return tables
    .selectFrom("session")
    .select(["account_id", "id"])
    .where("idle_since", "<=", limit)
    .where("last_used_at", comparison, limit)
    .orderBy("idle_since")
    .limit(given.limit)
    .forUpdate()
    .skipLocked()
    .$asTuple("account_id", "id");
}

/** Sets `idle_since` to the last use. */
export const keepUsedSessions = prepare("session_keep_used", (tables, given: IdleBatch) =>
  tables
    .updateTable("session")
    .set(({ ref }) => ({ idle_since: ref("last_used_at") }))
    .where(({ eb, refTuple }) => eb(refTuple("account_id", "id"), "in", due(tables, given, ">"))),
);

export const endIdleSessions = prepare("session_end_idle", (tables, given: IdleBatch) =>
  tables
    .deleteFrom("session")
    .where(({ eb, refTuple }) => eb(refTuple("account_id", "id"), "in", due(tables, given, "<="))),
);

/** Locks an enabled account, so that its sessions are opened one after the other. */
export const lockAccountOfSessions = prepare("session_lock_account", (tables, given: { readonly accountId: string }) =>
  tables
    .selectFrom("account")
    .select("id")
    .where("id", "=", given.accountId)
    .where("disabled_at", "is", null)
    .forNoKeyUpdate(),
);

/** In an organization each member has sessions of their own. */
interface OfClient {
  readonly accountId: string;
  readonly memberId: string | undefined;
  readonly clientId: string;
}

function isOfMember({ memberId }: OfClient) {
  return sql<boolean>`member_id is not distinct from ${memberId}::text`;
}

export const countSessionsOfOthers = prepare(
  "session_count_of_others",
  (tables, given: OfClient & { readonly idleSeconds: number }) =>
    tables
      .selectFrom("session")
      .select(({ fn }) => fn.countAll<number>().as("count"))
      .where("account_id", "=", given.accountId)
      .where(isOfMember(given))
      .where("client_id", "!=", given.clientId)
      .where("last_used_at", ">", sql<Date>`now() - make_interval(secs => ${given.idleSeconds})`),
);

/** Ends all sessions of a client except for the `kept` most recently used ones. */
export const endSurplusSessions = prepare(
  "session_end_surplus",
  (tables, given: OfClient & { readonly kept: number }) =>
    tables
      .deleteFrom("session")
      .where("account_id", "=", given.accountId)
      .where("id", "in", ({ selectFrom }) =>
        selectFrom("session")
          .select("id")
          .where(({ and }) => and({ account_id: given.accountId, client_id: given.clientId }))
          .where(isOfMember(given))
          .orderBy("last_used_at", "desc")
          .orderBy("created_at", "desc")
          .orderBy("id")
          .offset(given.kept),
      ),
);

export const insertSession = prepare("session_insert", (tables, given: NewSession) =>
  tables
    .insertInto("session")
    .values({
      ...{ account_id: given.accountId, id: given.id, client_id: given.clientId, client_info: given.clientInfo },
      member_id: sql`${given.memberId}`,
      ...{ connection_id: sql`${given.connectionId}`, grant_id: sql`${given.grantId}` },
      ...{ protocol_version: given.protocolVersion, client_capabilities: given.clientCapabilities },
    })
    .returning(SESSION_COLUMNS),
);
