import { RE2JS } from "re2js";

/** In characters; longer patterns are not checked. */
const MAX_PATTERN_LENGTH = 2_000;

/** The part of RegExp that Ajv uses. */
interface Pattern {
  test(text: string): boolean;
  /** Ajv treats patterns with equal text as the same pattern. */
  toString(): string;
}

/**
 * Compiles a JSON Schema pattern that matches in linear time. Schemas come from upstreams, and a backtracking engine
 * can take minutes for `(a+)+$`. Patterns that RE2 does not support (look-around, back-references) match everything;
 * the upstream checks them again.
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
