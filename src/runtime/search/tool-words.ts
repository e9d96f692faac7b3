import { LRUCache } from "lru-cache";
import { stemmer } from "stemmer";
import { atMost } from "../../at-most.ts";
import type { ToolDefinition } from "../../integrations/tool.ts";
import { isJsonObject } from "../../json.ts";

/** What a word of the name counts: most. Elsewhere it counts less; the place where it counts most decides. */
export const NAME_WEIGHT = 8;
const TITLE_WEIGHT = 6;
const CATEGORY_WEIGHT = 4;
const DESCRIPTION_WEIGHT = 2;
const PARAMETER_WEIGHT = 1;

/** Texts of strangers are read so far, in UTF-16 units, and so many of their parameters. */
const MAX_TEXT_LENGTH = 2_000;
const MAX_PARAMETERS = 100;
const MAX_WORD_LENGTH = 40;
/** Words remembered with their stems. */
const MAX_STEMS = 50_000;

/** What a tool is found by. */
export interface ToolWords {
  /** Stems, ascending by UTF-16 units. */
  readonly stems: readonly string[];
  /** What each of them counts. */
  readonly weights: Uint8Array;
  /** How many different stems the name has. */
  readonly nameLength: number;
}

/** Reads words out of texts and tools. */
export interface WordReader {
  /** The stems of a text in their order, each as often as it occurs. */
  stemsOf(text: string): string[];
  /** The same object for the same definition, so that connections which share a list share its words. */
  wordsOfTool(definition: ToolDefinition): ToolWords;
}

const WORD = /[\p{L}\p{N}]+/gu;
/** Where one word of `listOpenPRs2` ends and the next begins. */
const CAMEL_CASE_BOUNDARY = /(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/gu;
/** Scripts that put no space between words. */
const SCRIPTS_WITHOUT_SPACES =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]/u;

/** A reader that remembers what it has read. English is stemmed; words of other languages are found as they are or begin. */
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

/** What a stem counts among a tool's words; where words only begin with it, half of the best. 0 when none does. */
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

/** One or two letters begin half of all words; one character of other scripts says more. */
function isSpecificPrefix(stem: string): boolean {
  return stem.length > 2 || /\P{ASCII}/u.test(stem);
}
