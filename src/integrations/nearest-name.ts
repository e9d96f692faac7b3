import { distance } from "fastest-levenshtein";

/** In characters; longer names are not compared. */
const MAX_LENGTH = 64;

/** Returns the known name that the caller probably meant: at most a third of its letters differ. */
export function nearestName(wrong: string, known: Iterable<string>): string | undefined {
  if (wrong.length > MAX_LENGTH) return undefined;
  let best: string | undefined;
  let bestDistance = Math.max(2, Math.floor(wrong.length / 3)) + 1;
  for (const name of known) {
    if (name.length > MAX_LENGTH) continue;
    const edits = distance(wrong.toLowerCase(), name.toLowerCase());
    if (edits < bestDistance && edits < name.length) [best, bestDistance] = [name, edits];
  }
  return best;
}
