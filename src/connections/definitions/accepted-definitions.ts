import { createHash } from "node:crypto";

/** The digest of the accepted definition of each tool, by tool name. Never changed in place. */
export type AcceptedDefinitions = ReadonlyMap<string, string>;

export const NO_ACCEPTED_DEFINITIONS: AcceptedDefinitions = new Map();

/**
 * Maximum number of names for one connection, so that an upstream that keeps inventing names cannot fill the database.
 */
const MAX_ACCEPTED_NAMES = 10_000;

/**
 * The digest of a set of accepted definitions. Connections with equal sets share one row, which is stored under this
 * digest.
 */
export function digestOfAccepted(accepted: AcceptedDefinitions): string {
  const hash = createHash("sha256");
  for (const [name, digest] of [...accepted].sort(([a], [b]) => (a < b ? -1 : 1)))
    hash.update(`${JSON.stringify(name)} ${digest}\n`);
  return hash.digest("base64url");
}

/**
 * Adds or replaces entries. Above the limit, tools that are not listed now are dropped first; they count as new later.
 */
export function mergeAccepted(
  accepted: AcceptedDefinitions,
  more: AcceptedDefinitions,
  isListed: (name: string) => boolean,
): AcceptedDefinitions {
  const all = new Map([...accepted, ...more]);
  if (all.size <= MAX_ACCEPTED_NAMES) return all;
  return new Map([...all].sort(([a], [b]) => Number(isListed(b)) - Number(isListed(a))).slice(0, MAX_ACCEPTED_NAMES));
}
