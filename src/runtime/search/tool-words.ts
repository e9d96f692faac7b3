import { LRUCache } from "lru-cache";
import { stemmer } from "stemmer";
import { atMost } from "../../at-most.ts";
import type { ToolDefinition } from "../../integrations/tool.ts";
import { isJsonObject } from "../../json.ts";

/** Weights of a word by field; the highest one counts. */
export const NAME_WEIGHT = 8;
const TITLE_WEIGHT = 6;
const CATEGORY_WEIGHT = 4;
const DESCRIPTION_WEIGHT = 2;
const PARAMETER_WEIGHT = 1;

/** Limits for the text of upstreams: UTF-16 units per text, and parameters per tool. */
const MAX_TEXT_LENGTH = 2_000;
const MAX_PARAMETERS = 100;
const MAX_WORD_LENGTH = 40;
const MAX_STEMS = 50_000;

/** The words that a tool is found by. */
export interface ToolWords {
  /** Sorted by UTF-16 units. */
  readonly stems: readonly string[];
  /** The weight of each stem. */
  readonly weights: Uint8Array;
  /** Number of different stems in the name. */
  readonly nameLength: number;
}

export interface WordReader {
  /** Returns the stems of a text in order, with duplicates. */
  stemsOf(text: string): string[];
  /** Returns the same object for the same definition, so that connections with a common list share it. */
  wordsOfTool(definition: ToolDefinition): ToolWords;
}

const WORD = /[\p{L}\p{N}]+/gu;
/** Matches word boundaries such as those in `listOpenPRs2`. */
const CAMEL_CASE_BOUNDARY = /(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/gu;
/** Scripts without spaces between words. */
const SCRIPTS_WITHOUT_SPACES =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]/u;

/** Stems English words; words of other languages match in full or by prefix. */
export function createWordReader(): WordReader {
  const stems = new LRUCache<string, string>(atMost(MAX_STEMS));
  const known = new WeakMap<ToolDefinition, ToolWords>();
  const segmenter = new Intl.Segmenter(undefined, { granularity: "word" });

  function stemOf(word: string): string {
    const before = stems.get(word);
    if (before !== undefined) return before;
    const stem = word.length > MAX_WORD_LENGTH ? word.slice(0, MAX_WORD_LENGTH) : stemmer(word);
    stems.set(word, stem);
    return stem;
  }

  function stemsOf(text: string): string[] {
    const spaced = text.slice(0, MAX_TEXT_LENGTH).normalize("NFKC").replace(CAMEL_CASE_BOUNDARY, " ").toLowerCase();
    const words = spaced.match(WORD) ?? [];
    return words
      .flatMap((word) =>
        SCRIPTS_WITHOUT_SPACES.test(word) ? [...segmenter.segment(word)].map(({ segment }) => segment) : [word],
      )
      .map(stemOf);
  }

  function readTool({ name, description, inputSchema, annotations, listed }: ToolDefinition): ToolWords {
    const weights = new Map<string, number>();
    const add = (text: string, weight: number): void => {
      for (const stem of stemsOf(text)) if ((weights.get(stem) ?? 0) < weight) weights.set(stem, weight);
    };
    add(name, NAME_WEIGHT);
    const nameLength = weights.size;
    if (typeof listed?.title === "string") add(listed.title, TITLE_WEIGHT);
    add(annotations.category ?? "", CATEGORY_WEIGHT);
    add(description, DESCRIPTION_WEIGHT);
    const { properties } = inputSchema;
    const parameters = isJsonObject(properties) ? Object.keys(properties).slice(0, MAX_PARAMETERS) : [];
    add(parameters.join(" "), PARAMETER_WEIGHT);
    const sorted = [...weights].sort(([a], [b]) => (a < b ? -1 : 1));
    return {
      stems: sorted.map(([stem]) => stem),
      weights: Uint8Array.from(sorted, ([, weight]) => weight),
      nameLength,
    };
  }

  return {
    stemsOf,
    wordsOfTool(definition) {
      let words = known.get(definition);
      if (words === undefined) {
        words = readTool(definition);
        known.set(definition, words);
      }
      return words;
    },
  };
}

/**
 * Returns the weight of a stem in a tool. A word that only starts with the stem counts half. Returns 0 without a match.
 */
export function weightOf({ stems, weights }: ToolWords, stem: string): number {
  let low = 0;
  let high = stems.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((stems[middle] ?? "") < stem) low = middle + 1;
    else high = middle;
  }
  if (stems[low] === stem) return weights[low] ?? 0;
  let best = 0;
  if (isSpecificPrefix(stem)) {
    for (let at = low; stems[at]?.startsWith(stem) === true; at += 1) best = Math.max(best, (weights[at] ?? 0) / 2);
  }
  return best;
}

/** ASCII prefixes of one or two letters match too many words. */
function isSpecificPrefix(stem: string): boolean {
  return stem.length > 2 || /\P{ASCII}/u.test(stem);
}
