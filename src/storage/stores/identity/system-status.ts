import { sql } from "kysely";
import type pg from "pg";
import type { InstallationStatus } from "../../../identity/system-status.ts";
import { MIGRATION_TABLE } from "../../orm.ts";
import { prepare } from "../../statements/prepare.ts";

const COUNT = sql<number>`count(*)`.as("count");

type Counts = Omit<InstallationStatus, "queues" | "verifiedConnections"> & { readonly pendingConnections: number };

const countAll = prepare("system_status_counts", (tables) =>
  tables
    .selectNoFrom(({ selectFrom }) => {
      const accounts = selectFrom("account").select(COUNT);
      const connections = selectFrom("connection").select(COUNT);
      return [
        accounts.as("accounts"),
        accounts.where("disabled_at", "is not", null).as("disabledAccounts"),
        connections.as("connections"),
        connections.where("verification_status", "=", sql.lit("failed")).as("failedConnections"),
        connections.where("verification_status", "=", sql.lit("pending")).as("pendingConnections"),
        selectFrom("session").select(COUNT).as("mcpSessions"),
        selectFrom(sql<{ name: string; id: number }>`${sql.table(MIGRATION_TABLE)}`.as("migration"))
          .select(sql<string[]>`array_agg(name order by id)`.as("names"))
          .as("migrations"),
      ];
    })
    .$castTo<Counts>(),
);

function jobsIn(...states: readonly string[]) {
  return sql<number>`(count(*) filter (where state in (${sql.join(states.map((state) => sql.lit(state)))})))`;
}

const countJobs = prepare("system_status_queues", (tables) =>
  tables
    .selectFrom(sql<{ name: string; state: string }>`${sql.table("pgboss.job")}`.as("job"))
    .select([
      "name",
      jobsIn("created", "retry").as("waiting"),
      jobsIn("active").as("active"),
      jobsIn("failed").as("failed"),
    ])
    .where("state", "in", sql<string>`('created', 'retry', 'active', 'failed')`)
    .groupBy("name")
    .orderBy("name"),
);

const countVerifications = prepare("system_status_verifications", (tables) =>
  tables
    .selectFrom("verification")
    .select(COUNT)
    .where(({ eb, or }) => or([eb("priority", "<", sql.lit(2)), eb("due_at", "<=", sql<Date>`now()`)])),
);

/** Reads the state of the installation. Counts whole tables, so it is not for probes. */
export async function readInstallationStatus(pool: pg.Pool): Promise<InstallationStatus> {
  const [counts, jobs, verifications] = await Promise.all([
    countAll(pool, {}),
    countJobs(pool, {}),
    countVerifications(pool, {}),
  ]);
  const [row] = counts.rows;
  if (row === undefined) throw new Error("the counts of the installation came without a row");
  const { pendingConnections, ...known } = row;
  const waiting = verifications.rows[0]?.count ?? 0;
  const verifying = waiting === 0 ? [] : [{ name: "verify-key", waiting, active: 0, failed: 0 }];
  return {
    ...known,
    verifiedConnections: known.connections - known.failedConnections - pendingConnections,
    queues: [...jobs.rows, ...verifying].sort((one, other) => (one.name < other.name ? -1 : 1)),
  };
}
