/** A migration that removes something, such as `0040_contract_0036_drop_x`: versions without migration 0036 still use it. */
const CONTRACT_NAME = /^\d{4}_contract_(?<required>\d{4})_/;

/** The number of the migration that every replica must know before this one runs; undefined unless it removes something. */
export function requiredBy(migration: string): string | undefined {
  return CONTRACT_NAME.exec(migration)?.groups?.["required"];
}

/**
 * Throws if one of the `applied` migrations removed something that a version with the migrations `known` still uses. Other
 * migrations of a newer version are accepted, because versions N−1 and N serve side by side during an upgrade.
 */
export function refuseContracted(applied: ReadonlySet<string>, known: readonly string[]): void {
  const ownNames = new Set(known);
  const numbers = new Set(known.map((name) => name.slice(0, 4)));
  for (const name of applied) {
    const required = requiredBy(name);
    if (ownNames.has(name) || required === undefined || numbers.has(required)) continue;
    throw new Error(
      `this version is too old for the database: a newer one ran the migration ${name}, which removed something that ` +
        `versions without migration ${required} use. Start a version that has migration ${required}`,
    );
  }
}
