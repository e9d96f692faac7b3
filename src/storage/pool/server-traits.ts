import type pg from "pg";
import { BoundedClient } from "./bounded-client.ts";
import { DATABASE_BOUNDS } from "./bounds.ts";
import { ignoreError } from "../ignore-error.ts";
import { errorCode } from "../storage-error.ts";

/** The capabilities of a database's address: PostgreSQL itself, or a pooler in front of it. */
export interface ServerTraits {
  /** Whether connections may set parameters such as `statement_timeout`. PgBouncer rejects them. */
  readonly takesSettings: boolean;
  /**
   * Whether transactions of one connection may run in several server sessions, as with a pooler in transaction mode.
   */
  readonly sharesSessions: boolean;
  /** Whether named prepared statements survive until the next transaction. */
  readonly keepsStatements: boolean;
}

/** PostgreSQL itself. */
export const DIRECT: ServerTraits = { takesSettings: true, sharesSessions: false, keepsStatements: true };

const UNSUPPORTED_SETTING = /unsupported startup parameter/i;
/** PostgreSQL's error codes for a missing and for a duplicate prepared statement. */
const LOST_STATEMENT = new Set(["26000", "42P05"]);
const WHO = { name: "patchbay_server_traits", text: "select pg_backend_pid() as pid" };

/** The pid of the current server session; undefined if the prepared statement was lost. */
async function findSession(client: pg.Client): Promise<number | undefined> {
  try {
    return (await client.query<{ pid: number }>(WHO)).rows[0]?.pid;
  } catch (error) {
    if (LOST_STATEMENT.has(errorCode(error) ?? "")) return undefined;
    throw error;
  }
}

/**
 * Detects the capabilities with two connections. A pooler in transaction mode either runs a transaction of the second
 * in the session that just served the first, or moves the first to another session.
 */
export async function inspectServer(url: string): Promise<ServerTraits> {
  const open: BoundedClient[] = [];
  const connect = async (settings: pg.ClientConfig): Promise<BoundedClient> => {
    const client = new BoundedClient({
      connectionString: url,
      connectionTimeoutMillis: DATABASE_BOUNDS.connectMs,
      query_timeout: DATABASE_BOUNDS.statementMs,
      application_name: "patchbay",
      ...settings,
    });
    client.on("error", ignoreError);
    open.push(client);
    await client.connect();
    return client;
  };
  try {
    let takesSettings = true;
    const first = await connect({ statement_timeout: DATABASE_BOUNDS.statementMs }).catch((error: unknown) => {
      if (!(error instanceof Error) || !UNSUPPORTED_SETTING.test(error.message)) throw error;
      takesSettings = false;
      return connect({});
    });
    const second = await connect({});
    const before = await findSession(first);
    await second.query("begin");
    const other = await findSession(second);
    const after = other === before ? before : await findSession(first);
    await second.query("rollback");
    const pids = [before, other, after];
    const keepsStatements = !pids.includes(undefined);
    return { takesSettings, keepsStatements, sharesSessions: !keepsStatements || other === before || after !== before };
  } finally {
    await Promise.all(open.map((client) => client.end().catch(ignoreError)));
  }
}
