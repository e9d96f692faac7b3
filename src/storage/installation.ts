import { randomBytes } from "node:crypto";
import { LockMode } from "@mikro-orm/postgresql";
import { type Kysely, sql } from "kysely";
import type { Database } from "./database.ts";
import { InstallationEntity } from "./entities/installation.ts";
import { inTransaction, tablesOf } from "./orm.ts";
import { PEPPER_PLACE, SEALED_COLUMNS, type SealedTables, selectSealedOutside, versionOf } from "./sealed-columns.ts";
import type { Sealer } from "./sealing.ts";

/** Secrets that all replicas of an installation share. */
export interface Installation {
  /** 32 random bytes that key the hashes of high-entropy secrets. */
  readonly pepper: Buffer;
}

/** Maps the version of each key in a fingerprint to its hash. */
function readFingerprint(fingerprint: string): ReadonlyMap<string, string> {
  return new Map(
    fingerprint.split(",").map((entry) => {
      const [version = "", hash = ""] = entry.split(":");
      return [version, hash] as const;
    }),
  );
}

/** The first entry of a fingerprint: the key that encrypts new values. */
function newestOf(offered: string): string {
  return offered.split(",", 1)[0] ?? "";
}

/**
 * Returns the fingerprint to store after a replica with the keys `offered` has joined. `sealedUnder` counts the secrets
 * encrypted with keys that the replica lacks.
 *
 * A replica must have every key that may have encrypted something: each that was the newest of some replica since the
 * last complete `keys rewrap`. To add a key, put it first and restart the replicas; remove it after `keys rewrap` has
 * replaced it everywhere. A replica with missing keys is rejected, instead of failing at the first value it cannot decrypt.
 */
function admitFingerprint(
  remembered: string,
  offered: string,
  sealedUnder: ReadonlyMap<number, number> = new Map(),
): string {
  const offeredKeys = readFingerprint(offered);
  const rememberedKeys = readFingerprint(remembered);
  for (const [version, hash] of rememberedKeys) {
    const offeredHash = offeredKeys.get(version);
    if (offeredHash !== undefined && offeredHash !== hash) {
      throw new Error(
        `master key version ${version} is not the one that encrypted this database; check PATCHBAY_KEYS (or DATA_DIR)`,
      );
    }
  }
  const needed = new Set([...rememberedKeys.keys(), ...[...sealedUnder.keys()].map(String)]);
  for (const version of needed) {
    if (offeredKeys.has(version)) continue;
    const count = sealedUnder.get(Number(version)) ?? 0;
    const secrets = `${count} ${count === 1 ? "secret" : "secrets"}`;
    throw new Error(
      `this database is encrypted with master key version ${version}, which PATCHBAY_KEYS (or DATA_DIR) does not contain: ` +
        `without it ${secrets} would be lost`,
    );
  }
  const entries = [newestOf(offered), ...[...rememberedKeys].map(([version, hash]) => `${version}:${hash}`)];
  return [...new Set(entries)].join(",");
}

/**
 * Joins the installation in the database, or creates it. Rejects a replica with other master keys. Of several replicas
 * that start on an empty database, one creates it and the others join.
 */
export async function openInstallation({ orm }: Pick<Database, "orm">, sealer: Sealer): Promise<Installation> {
  return await inTransaction(orm, async (em) => {
    const sealed_pepper = sealer.seal(randomBytes(32).toString("base64"), PEPPER_PLACE);
    await tablesOf(em)
      .insertInto("installation")
      .values({ id: 1, master_key_fingerprint: newestOf(sealer.fingerprint), sealed_pepper })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    const installation = await em.findOneOrFail(InstallationEntity, 1, { lockMode: LockMode.PESSIMISTIC_WRITE });
    const lost = await countSealedOutside(em.getKysely<SealedTables>(), sealer.versions);
    const { masterKeyFingerprint, sealedPepper } = installation;
    installation.masterKeyFingerprint = admitFingerprint(masterKeyFingerprint, sealer.fingerprint, lost);
    return { pepper: Buffer.from(sealer.open(sealedPepper, PEPPER_PLACE), "base64") };
  });
}

/**
 * From now on, requires only the newest key, if nothing is sealed under another one. Returns how many secrets are
 * sealed under others. For use in a transaction.
 */
export async function forgetOtherKeys(tables: Kysely<SealedTables>, sealer: Sealer): Promise<number> {
  await tables.selectFrom("installation").select("id").forUpdate().execute();
  const others = await countSealedOutside(tables, [sealer.newestVersion]);
  const remaining = [...others.values()].reduce((sum, count) => sum + count, 0);
  if (remaining === 0) {
    const newest = newestOf(sealer.fingerprint);
    await tables.updateTable("installation").set({ master_key_fingerprint: newest }).execute();
  }
  return remaining;
}

/** Counts the secrets under each master key that is not in `versions`. */
async function countSealedOutside(tables: Kysely<SealedTables>, versions: readonly number[]) {
  const counts = new Map<number, number>();
  for (const column of SEALED_COLUMNS) {
    const rows = await selectSealedOutside(tables, column, versions)
      .select([versionOf(column).as("version"), sql<number>`count(*)`.as("count")])
      .groupBy(versionOf(column))
      .execute();
    for (const { version, count } of rows) {
      // A value without a whole header counts for no key; opening it fails.
      if (version.length < 4) continue;
      const number = version.readUInt32BE(0);
      counts.set(number, (counts.get(number) ?? 0) + count);
    }
  }
  return counts;
}
