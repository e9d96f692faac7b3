import type { Logger } from "pino";
import type { Config } from "../../config.ts";
import { ConfigError } from "../../settings.ts";
import { inspectServer, type ServerTraits } from "./server-traits.ts";

/**
 * Detects a pooler at `DATABASE_URL` and logs its limitations. Throws ConfigError if LISTEN would use a transaction
 * pooler, through which it would silently receive nothing, not even revocations.
 */
export async function inspectAddresses(
  databaseUrl: string,
  { databaseListenUrl }: Pick<Config, "databaseListenUrl">,
  log: Logger,
): Promise<ServerTraits> {
  const server = await inspectServer(databaseUrl);
  if (databaseListenUrl === undefined) {
    if (server.sharesSessions) throw deaf("DATABASE_URL", "set DATABASE_LISTEN_URL to");
  } else if ((await inspectServer(databaseListenUrl)).sharesSessions) {
    throw deaf("DATABASE_LISTEN_URL", "set it to");
  }
  if (!server.keepsStatements) {
    log.warn(
      "the pooler at DATABASE_URL loses prepared statements, so none are used, which is slower: " +
        "use PgBouncer 1.21 or later with max_prepared_statements = 500",
    );
  }
  if (!server.takesSettings) {
    log.warn(
      "the pooler at DATABASE_URL rejects settings, so the server does not cancel slow statements: " +
        "alter role … set statement_timeout = '9s', idle_in_transaction_session_timeout = '10s'",
    );
  }
  return server;
}

function deaf(variable: string, remedy: string): ConfigError {
  return new ConfigError(
    `${variable} leads to a pooler in transaction mode, through which LISTEN receives nothing: ` +
      `${remedy} the address of PostgreSQL itself, as a user that may migrate.`,
  );
}
