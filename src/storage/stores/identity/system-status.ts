import type pg from "pg";
import type { InstallationStatus, QueueStatus } from "../../../identity/system-status.ts";
import { runStatement } from "../run-statement.ts";

type CountsRow = Omit<InstallationStatus, "migrations" | "queues"> & { readonly migrations: string[] };

const COUNTS = {
  name: "system_status_counts",
  text: `select
      (select array_agg(name order by id) from migration) as migrations,
      (select count(*)::integer from account) as accounts,
      (select count(*)::integer from account where disabled_at is not null) as "disabledAccounts",
      connections, (connections - failed - pending) as "verifiedConnections", failed as "failedConnections",
      (select count(*)::integer from session) as "mcpSessions"
    from (select
        (select count(*)::integer from connection) as connections,
        (select count(*)::integer from connection where verification_status = 'failed') as failed,
        (select count(*)::integer from connection where verification_status = 'pending') as pending) as counted`,
};

const QUEUES = {
  name: "system_status_queues",
  text: `select name,
      (count(*) filter (where state in ('created', 'retry')))::integer as waiting,
      (count(*) filter (where state = 'active'))::integer as active,
      (count(*) filter (where state = 'failed'))::integer as failed
    from pgboss.job where state in ('created', 'retry', 'active', 'failed') group by name
    union all
    select 'verify-key', count(*)::integer, 0, 0 from verification where priority < 2 or due_at <= now()
    having count(*) > 0
    order by name`,
};

/** Reads how the installation stands. Counts whole tables, so it is for people and not for probes. */
export async function readInstallationStatus(pool: pg.Pool): Promise<InstallationStatus> {
  const [counts, queues] = await Promise.all([
    runStatement<CountsRow>(pool, { ...COUNTS, values: [] }),
    runStatement<QueueStatus & pg.QueryResultRow>(pool, { ...QUEUES, values: [] }),
  ]);
  const row = counts.rows[0];
  if (row === undefined) throw new Error("the counts of the installation came without a row");
  return {
    migrations: row.migrations,
    accounts: row.accounts,
    disabledAccounts: row.disabledAccounts,
    connections: row.connections,
    verifiedConnections: row.verifiedConnections,
    failedConnections: row.failedConnections,
    mcpSessions: row.mcpSessions,
    queues: queues.rows.map(({ name, waiting, active, failed }) => ({ name, waiting, active, failed })),
  };
}
