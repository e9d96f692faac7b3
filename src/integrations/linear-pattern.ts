import { RE2JS } from "re2js";

/** Characters a pattern may have; longer ones are not checked. */
const MAX_PATTERN_LENGTH = 2_000;

/** The part of a regular expression that Ajv uses. */
interface Pattern {
  test(text: string): boolean;
  /** Ajv takes patterns of one text for the same pattern. */
  toString(): string;
}

/**
 * A regular expression of JSON Schema that matches in time linear in the text, whoever wrote it.
 *
 * Schemas come from third parties, and a backtracking engine can be held for minutes by `(a+)+$`. What RE2's syntax
 * leaves out (look-around, back-references) is not checked here: the upstream checks it again.
 */
export function linearPattern(source: string): Pattern {
  return { test: matcher(source), toString: () => `linear/${source}/` };
}

function matcher(source: string): (text: string) => boolean {
  if (source.length > MAX_PATTERN_LENGTH) return () => true;
  try {
    const compiled = RE2JS.compile(RE2JS.translateRegExp(source));
    return (text) => compiled.matcher(text).find();
  } catch {
    return () => true;
  }
}
