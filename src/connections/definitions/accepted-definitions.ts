import { createHash } from "node:crypto";

/** Which definition of each tool is in force: by the tool's name the definition's digest. Never changed in place. */
export type ToolPins = ReadonlyMap<string, string>;

/** No definition has been seen yet. */
export const NO_PINS: ToolPins = new Map();

/** Names that one connection's pins may hold. An upstream that makes up new names for ever must not fill the database. */
const MAX_PINS = 10_000;

/** What stands for pins: the same for all connections that hold the same. */
export function digestOfPins(pins: ToolPins): string {
  const hash = createHash("sha256");
  for (const [name, digest] of [...pins].sort(([a], [b]) => (a < b ? -1 : 1)))
    hash.update(`${JSON.stringify(name)} ${digest}\n`);
  return hash.digest("base64url");
}

/**
 * Pins with others in the place of their own. Of too many, those go first whose tools are not listed now: they are then
 * new when they come back.
 */
export function withPins(pins: ToolPins, more: ToolPins, isListed: (name: string) => boolean): ToolPins {
  const all = new Map([...pins, ...more]);
  if (all.size <= MAX_PINS) return all;
  return new Map([...all].sort(([a], [b]) => Number(isListed(b)) - Number(isListed(a))).slice(0, MAX_PINS));
}
