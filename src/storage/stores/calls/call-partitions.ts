import type pg from "pg";
import { transaction } from "../../transaction.ts";
import { runStatement } from "../run-statement.ts";

const DAY_MS = 86_400_000;
/** Days after today for which partitions are created in advance, so that sweeps may fail for this long. */
const DAYS_AHEAD = 3;
/** Prevents replicas from maintaining partitions concurrently. */
const LOCK = 0x63616c6c;
/** The maximum time for which partition maintenance may block writers of the history. */
const LOCK_TIMEOUT = "2s";

const LIST = {
  name: "call_partition_list",
  text: "select inhrelid::regclass::text as name from pg_inherits where inhparent = 'call_record'::regclass",
};
const DELETE_OLD = {
  name: "call_partition_delete_old",
  text: "delete from call_record_rest where started_at < $1",
};

/** The daily partitions of the history. */
export interface CallPartitions {
  /** Creates the partitions for the days around now and drops those that are entirely past retention. */
  renew(now: Date): Promise<void>;
}

/**
 * The partitions of `call_record`, each named by its UTC day. `historyDays` is the minimum time for which a call stays
 * readable.
 */
export function createCallPartitions(pool: pg.Pool, historyDays: number): CallPartitions {
  async function plan(now: Date): Promise<{ missing: Date[]; old: string[] }> {
    const { rows } = await runStatement<{ name: string }>(pool, { ...LIST, values: [] });
    const names = rows.map(({ name }) => name);
    const today = Math.floor(now.getTime() / DAY_MS) * DAY_MS;
    // Yesterday is included, because calls that are recorded after midnight may have started before it.
    const days = Array.from({ length: DAYS_AHEAD + 2 }, (_, index) => new Date(today + (index - 1) * DAY_MS));
    const oldest = nameOf(new Date(now.getTime() - historyDays * DAY_MS));
    return {
      missing: days.filter((day) => !names.includes(nameOf(day))),
      old: names.filter((name) => /^call_record_\d{8}$/.test(name) && name < oldest),
    };
  }

  return {
    async renew(now) {
      await runStatement(pool, { ...DELETE_OLD, values: [new Date(now.getTime() - historyDays * DAY_MS)] });
      const seen = await plan(now);
      if (seen.missing.length + seen.old.length === 0) return;
      await transaction(pool, async (client) => {
        const lock = await client.query<{ mine: boolean }>("select pg_try_advisory_xact_lock($1) as mine", [LOCK]);
        if (lock.rows[0]?.mine !== true) return;
        await client.query(`set local lock_timeout = '${LOCK_TIMEOUT}'`);
        // Blocks new writers for a few milliseconds. A writer that already selected the default partition would
        // fail, because its row no longer belongs there.
        await client.query("lock table call_record in share row exclusive mode");
        // Checked again under the lock, because another replica may have created the partition.
        const { missing, old } = await plan(now);
        for (const day of missing) await createPartition(client, day);
        for (const name of old) await client.query(`drop table ${name}`);
      });
    },
  };
}

function nameOf(day: Date): string {
  return `call_record_${day.toISOString().slice(0, 10).replaceAll("-", "")}`;
}

/** Created separately and then attached, with the records that the default partition already has for that day. */
async function createPartition(client: pg.PoolClient, day: Date): Promise<void> {
  const name = nameOf(day);
  const [from, to] = [day.toISOString(), new Date(day.getTime() + DAY_MS).toISOString()];
  await client.query(`create table ${name} (like call_record including defaults including constraints)`);
  await client.query(
    `with moved as (delete from call_record_rest where started_at >= $1 and started_at < $2 returning *)
      insert into ${name} select * from moved`,
    [from, to],
  );
  await client.query(`alter table call_record attach partition ${name} for values from ('${from}') to ('${to}')`);
}
