import type pg from "pg";
import { BoundedClient } from "./bounded-client.ts";
import { DATABASE_BOUNDS } from "./bounds.ts";
import { ignoreError } from "./ignore-error.ts";
import { errorCode } from "./storage-error.ts";

/** What stands at a database's address: PostgreSQL itself, or a pooler in front of it. */
export interface ServerTraits {
  /** Whether a connection may bring settings such as `statement_timeout`. PgBouncer refuses them. */
  readonly takesSettings: boolean;
  /** Whether the transactions of one connection run in several sessions of the server: a pooler in transaction mode. */
  readonly sharesSessions: boolean;
  /** Whether a statement prepared under a name is there in the next transaction. */
  readonly keepsStatements: boolean;
}

/** PostgreSQL itself. */
export const DIRECT: ServerTraits = { takesSettings: true, sharesSessions: false, keepsStatements: true };

const UNSUPPORTED_SETTING = /unsupported startup parameter/i;
/** PostgreSQL's codes for a prepared statement that does not exist, and for one that exists already. */
const LOST_STATEMENT = new Set(["26000", "42P05"]);
const WHO = { name: "patchbay_server_traits", text: "select pg_backend_pid() as pid" };

/** The pid of the session that serves the connection now; undefined when the prepared statement was lost. */
async function findSession(client: pg.Client): Promise<number | undefined> {
  try {
    return (await client.query<{ pid: number }>(WHO)).rows[0]?.pid;
  } catch (error) {
    if (LOST_STATEMENT.has(errorCode(error) ?? "")) return undefined;
    throw error;
  }
}

/**
 * Finds out by two connections. A pooler in transaction mode serves the second, in a transaction, by the session that
 * served the first just before, or serves the first by another one meanwhile.
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
