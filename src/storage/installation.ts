import { randomBytes } from "node:crypto";
import type { Database } from "./database.ts";
import type { SealedPlace, Sealer } from "./sealing.ts";
import { transaction } from "./transaction.ts";

/** What every replica of one installation shares. */
export interface Installation {
  /** 32 random bytes that key the hashes of high-entropy secrets. */
  readonly pepper: Buffer;
}

/** Where the pepper is sealed. */
export const PEPPER_PLACE: SealedPlace = { table: "installation", column: "sealed_pepper", accountId: "", rowId: 1 };

/** `version → hash` of a fingerprint. */
function readFingerprint(fingerprint: string): ReadonlyMap<string, string> {
  return new Map(
    fingerprint.split(",").map((entry) => {
      const [version = "", hash = ""] = entry.split(":");
      return [version, hash] as const;
    }),
  );
}

/**
 * What the installation remembers of its master keys after a replica with `offered` keys has joined.
 *
 * The rule: a replica must hold every key under which the installation may have sealed something, and may bring newer
 * ones, which are remembered from then on. So a key is added by putting it in front of the others and restarting the
 * replicas, and a replica that was left behind is refused instead of failing at the first value it cannot open. A key
 * leaves the list only when everything has been wrapped anew (`keys rewrap`), never because a replica came without it.
 */
export function admitFingerprint(remembered: string, offered: string): string {
  const offeredKeys = readFingerprint(offered);
  for (const [version, hash] of readFingerprint(remembered)) {
    const offeredHash = offeredKeys.get(version);
    if (offeredHash === undefined) {
      throw new Error(
        `this database is sealed with master key version ${version}, which PATCHBAY_KEYS (or DATA_DIR) does not hold`,
      );
    }
    if (offeredHash !== hash) {
      throw new Error(
        `master key version ${version} is not the one this database is sealed with; check PATCHBAY_KEYS (or DATA_DIR)`,
      );
    }
  }
  return offered;
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
      [sealer.fingerprint, sealer.seal(randomBytes(32).toString("base64"), PEPPER_PLACE)],
    );
    const { rows } = await client.query<{ master_key_fingerprint: string; sealed_pepper: Buffer }>(
      "select master_key_fingerprint, sealed_pepper from installation where id = 1 for update",
    );
    const [row] = rows;
    if (row === undefined) throw new Error("the installation's row is missing");
    const admitted = admitFingerprint(row.master_key_fingerprint, sealer.fingerprint);
    if (admitted !== row.master_key_fingerprint) {
      await client.query("update installation set master_key_fingerprint = $1 where id = 1", [admitted]);
    }
    return { pepper: Buffer.from(sealer.open(row.sealed_pepper, PEPPER_PLACE), "base64") };
  });
}
