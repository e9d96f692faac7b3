/** Whether a text has more than `max` code points, which is how JSON Schema and PostgreSQL count characters. */
export function isLongerThan(text: string, max: number): boolean {
  if (text.length <= max) return false;
  // A code point has at most two UTF-16 units.
  return text.length > max * 2 || Array.from(text).length > max;
}
