/**
 * Whether a text has more than `max` characters. A character is a code point, as JSON Schema, PostgreSQL and people count
 * them, not one of UTF-16's units.
 */
export function isLongerThan(text: string, max: number): boolean {
  if (text.length <= max) return false;
  // No text has more than two units a character.
  return text.length > max * 2 || Array.from(text).length > max;
}
