/**
 * Reads and edits JSON as text, so that what an upstream wrote reaches the client byte for byte: key order, number
 * formats, escapes and unknown fields. Every function requires text that `JSON.parse` has accepted.
 */

const QUOTE = 0x22;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const COMMA = 0x2c;
const COLON = 0x3a;

/** A value inside a text. */
export interface JsonSpan {
  readonly start: number;
  /** The index after the last character. */
  readonly end: number;
}

/** A member of an object: `start` and `end` enclose the value, `keyStart` is the key's opening quote. */
export interface JsonMember extends JsonSpan {
  readonly key: string;
  readonly keyStart: number;
}

/** Replaces one span of a text. */
export interface JsonEdit extends JsonSpan {
  readonly text: string;
}

/** Returns the members of the object that begins at or after `from`; empty for any other value. */
export function membersOf(text: string, from = 0): readonly JsonMember[] {
  const open = skipSpace(text, from);
  if (text.charCodeAt(open) !== OPEN_OBJECT) return [];
  const members: JsonMember[] = [];
  let at = skipSpace(text, open + 1);
  while (text.charCodeAt(at) === QUOTE) {
    const keyEnd = endOfJsonString(text, at) + 1;
    const start = skipSpace(text, text.indexOf(":", keyEnd) + 1);
    const end = endOfValue(text, start);
    members.push({ key: readKey(text.slice(at, keyEnd)), keyStart: at, start, end });
    at = skipSpace(text, end);
    if (text.charCodeAt(at) === COMMA) at = skipSpace(text, at + 1);
  }
  return members;
}

/** Returns the last member with this key, as `JSON.parse` does. */
export function memberOf(text: string, key: string, from = 0): JsonMember | undefined {
  return membersOf(text, from).findLast((member) => member.key === key);
}

/** Returns the elements of the array that begins at or after `from`; empty for any other value. */
export function elementsOf(text: string, from = 0): readonly JsonSpan[] {
  const open = skipSpace(text, from);
  if (text.charCodeAt(open) !== OPEN_ARRAY) return [];
  const elements: JsonSpan[] = [];
  let start = skipSpace(text, open + 1);
  while (start < text.length && text.charCodeAt(start) !== CLOSE_ARRAY) {
    const end = endOfValue(text, start);
    elements.push({ start, end });
    const next = skipSpace(text, end);
    start = text.charCodeAt(next) === COMMA ? skipSpace(text, next + 1) : next;
  }
  return elements;
}

/** Applies edits, which must be in order and must not overlap. Returns the same text if there are none. */
export function applyEdits(text: string, edits: readonly JsonEdit[]): string {
  let edited = "";
  let from = 0;
  for (const { start, end, text: replacement } of edits) {
    edited += text.slice(from, start) + replacement;
    from = end;
  }
  return from === 0 ? text : edited + text.slice(from);
}

/**
 * Sets members of an object to JSON texts, in place or else at the end, and removes those set to undefined. Other
 * members keep their text and order; of a duplicate key only the last one stays.
 */
export function withMembers(text: string, changes: Readonly<Record<string, string | undefined>>): string {
  const members = new Map(membersOf(text).map((member) => [member.key, member]));
  const printed: string[] = [];
  for (const { key, keyStart, start, end } of members.values()) {
    if (!Object.hasOwn(changes, key)) printed.push(text.slice(keyStart, end));
    else if (changes[key] !== undefined) printed.push(text.slice(keyStart, start) + changes[key]);
  }
  for (const [key, value] of Object.entries(changes)) {
    if (value !== undefined && !members.has(key)) printed.push(`${JSON.stringify(key)}:${value}`);
  }
  return `{${printed.join(",")}}`;
}

/** Returns the index of the quote that ends the string at `start`. */
export function endOfJsonString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); ; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === 0x5c) backslashes += 1;
    if (backslashes % 2 === 0) return end;
  }
}

function endOfValue(text: string, start: number): number {
  const first = text.charCodeAt(start);
  if (first === QUOTE) return endOfJsonString(text, start) + 1;
  if (first !== OPEN_OBJECT && first !== OPEN_ARRAY) return endOfScalar(text, start);
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = endOfJsonString(text, at);
        break;
      case OPEN_OBJECT:
      case OPEN_ARRAY:
        depth += 1;
        break;
      case CLOSE_OBJECT:
      case CLOSE_ARRAY:
        depth -= 1;
        if (depth === 0) return at + 1;
        break;
    }
  }
  return text.length;
}

function endOfScalar(text: string, start: number): number {
  let end = start;
  while (end < text.length && !isScalarEnd(text.charCodeAt(end))) end += 1;
  return end;
}

function isScalarEnd(code: number): boolean {
  return code === COMMA || code === CLOSE_OBJECT || code === CLOSE_ARRAY || code === COLON || isSpace(code);
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (isSpace(text.charCodeAt(at))) at += 1;
  return at;
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

function readKey(quoted: string): string {
  return quoted.includes("\\") ? String(JSON.parse(quoted)) : quoted.slice(1, -1);
}
