import type pg from "pg";
import { transaction } from "../../transaction.ts";
import { runStatement } from "../run-statement.ts";

const DAY_MS = 86_400_000;
/** Days after today that have their partition already: a sweep that fails for so long does no harm. */
const DAYS_AHEAD = 3;
/** Keeps replicas from doing the same at once. */
const LOCK = 0x63616c6c;
/** Who writes the history must not wait behind us for longer than this. */
const LOCK_TIMEOUT = "2s";

const LIST = {
  name: "call_partition_list",
  text: "select inhrelid::regclass::text as name from pg_inherits where inhparent = 'call_record'::regclass",
};
const DELETE_OLD = {
  name: "call_partition_delete_old",
  text: "delete from call_record_rest where started_at < $1",
};

/** The day partitions of the history. */
export interface CallPartitions {
  /** Makes the partitions of the days around now and drops those that are wholly older than what is kept. */
  renew(now: Date): Promise<void>;
}

/** Partitions of `call_record`, each named by its day in UTC; `historyDays` is how long a call stays readable at least. */
export function createCallPartitions(pool: pg.Pool, historyDays: number): CallPartitions {
  async function plan(now: Date): Promise<{ missing: Date[]; old: string[] }> {
    const { rows } = await runStatement<{ name: string }>(pool, { ...LIST, values: [] });
    const names = rows.map(({ name }) => name);
    const today = Math.floor(now.getTime() / DAY_MS) * DAY_MS;
    // Yesterday too: what is written just after midnight began before it.
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
        // Writers wait at the door for these milliseconds. One already inside, on its way to the default partition, would find
        // that its row no longer belongs there.
        await client.query("lock table call_record in share row exclusive mode");
        // Looked at again under the lock: another replica may just have done it.
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

/** Made apart and then attached, with the records that came before it was there. */
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
