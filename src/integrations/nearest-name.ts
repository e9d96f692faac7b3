/** Characters of a wrong name that are looked at; nobody mistypes longer ones by a letter. */
const MAX_LENGTH = 64;

/** The known name that a wrong one was probably meant to be: at most a third of its letters differ. Undefined when none is near. */
export function nearestName(wrong: string, known: Iterable<string>): string | undefined {
  if (wrong.length > MAX_LENGTH) return undefined;
  let best: string | undefined;
  let bestDistance = Math.max(2, Math.floor(wrong.length / 3)) + 1;
  for (const name of known) {
    if (name.length > MAX_LENGTH) continue;
    const distance = editDistance(wrong.toLowerCase(), name.toLowerCase());
    if (distance < bestDistance && distance < name.length) [best, bestDistance] = [name, distance];
  }
  return best;
}

/** Letters to insert, delete or replace to make one word of the other (Levenshtein). */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 0; i < a.length; i += 1) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j += 1) {
      const replaced = (row[j] ?? 0) + (a[i] === b[j] ? 0 : 1);
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
