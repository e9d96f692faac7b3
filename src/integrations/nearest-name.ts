import { distance } from "fastest-levenshtein";

/** Longer names are not compared, in characters: a typing error is not what makes them unknown. */
const MAX_LENGTH = 64;

/** Returns the known name that a wrong one was probably meant to be: at most a third of its letters differ. Undefined when none is near. */
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
