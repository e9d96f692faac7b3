import { randomBytes } from "node:crypto";
import type pg from "pg";
import type { Database } from "./database.ts";
import { PEPPER_PLACE } from "./sealed-columns.ts";
import { countSealedOutside } from "./sealed-counts.ts";
import type { Sealer } from "./sealing.ts";
import { transaction } from "./transaction.ts";

/** What every replica of one installation shares. */
export interface Installation {
  /** 32 random bytes that key the hashes of high-entropy secrets. */
  readonly pepper: Buffer;
}

/** `version → hash` of a fingerprint. */
function readFingerprint(fingerprint: string): ReadonlyMap<string, string> {
  return new Map(
    fingerprint.split(",").map((entry) => {
      const [version = "", hash = ""] = entry.split(":");
      return [version, hash] as const;
    }),
  );
}

/** The first entry of a fingerprint: the key under which who offers it seals. */
function newestOf(offered: string): string {
  return offered.split(",", 1)[0] ?? "";
}

/**
 * What the installation remembers of its master keys after a replica with `offered` keys has joined; `sealedUnder` tells how
 * many secrets there are under keys that the replica lacks.
 *
 * The rule: a replica must hold every key under which something may be sealed, that is, each that was the newest of some
 * replica since the last complete `keys rewrap`. So a key is added by putting it in front of the others and restarting the
 * replicas; it is taken away after `keys rewrap` has left nothing under it. A replica that was left behind, or lost a key, is
 * refused instead of failing at the first value it cannot open.
 */
export function admitFingerprint(
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
        `master key version ${version} is not the one this database is sealed with; check PATCHBAY_KEYS (or DATA_DIR)`,
      );
    }
  }
  const needed = new Set([...rememberedKeys.keys(), ...[...sealedUnder.keys()].map(String)]);
  for (const version of needed) {
    if (offeredKeys.has(version)) continue;
    const count = sealedUnder.get(Number(version)) ?? 0;
    const secrets = `${count} ${count === 1 ? "secret" : "secrets"}`;
    throw new Error(
      `this database is sealed with master key version ${version}, which PATCHBAY_KEYS (or DATA_DIR) does not hold: ` +
        `without it ${secrets} would be lost`,
    );
  }
  const entries = [newestOf(offered), ...[...rememberedKeys].map(([version, hash]) => `${version}:${hash}`)];
  return [...new Set(entries)].join(",");
}

/**
 * Joins the installation that the database holds, or founds it; a replica with other master keys is refused.
 *
 * Of several replicas that start on an empty database one founds and the others join.
 */
export async function openInstallation(database: Pick<Database, "pool">, sealer: Sealer): Promise<Installation> {
  return await transaction(database.pool, async (client) => {
    await client.query(
      "insert into installation (id, master_key_fingerprint, sealed_pepper) values (1, $1, $2) on conflict do nothing",
      [newestOf(sealer.fingerprint), sealer.seal(randomBytes(32).toString("base64"), PEPPER_PLACE)],
    );
    const { rows } = await client.query<{ master_key_fingerprint: string; sealed_pepper: Buffer }>(
      "select master_key_fingerprint, sealed_pepper from installation where id = 1 for update",
    );
    const [row] = rows;
    if (row === undefined) throw new Error("the installation's row is missing");
    const lost = await countSealedOutside(client, sealer.versions);
    const admitted = admitFingerprint(row.master_key_fingerprint, sealer.fingerprint, lost);
    if (admitted !== row.master_key_fingerprint) {
      await client.query("update installation set master_key_fingerprint = $1 where id = 1", [admitted]);
    }
    return { pepper: Buffer.from(sealer.open(row.sealed_pepper, PEPPER_PLACE), "base64") };
  });
}

/** Asks for no key but the newest from now on, if nothing is sealed under another; gives how many secrets are. */
export async function forgetOtherKeys(client: pg.ClientBase, sealer: Sealer): Promise<number> {
  await client.query("select 1 from installation where id = 1 for update");
  const others = await countSealedOutside(client, [sealer.newestVersion]);
  const remaining = [...others.values()].reduce((sum, count) => sum + count, 0);
  if (remaining === 0) {
    const newest = newestOf(sealer.fingerprint);
    await client.query("update installation set master_key_fingerprint = $1 where id = 1", [newest]);
  }
  return remaining;
}
