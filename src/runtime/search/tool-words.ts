import { LRUCache } from "lru-cache";
import { stemmer } from "stemmer";
import { atMost } from "../../at-most.ts";
import type { ToolDefinition } from "../../integrations/tool.ts";
import { isJsonObject } from "../../json.ts";

/** What a word of the name counts: most. Elsewhere it counts less; the place where it counts most decides. */
export const IN_NAME = 8;
const IN_TITLE = 6;
const IN_CATEGORY = 4;
const IN_DESCRIPTION = 2;
const IN_PARAMETER = 1;

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
  ofText(text: string): string[];
  /** The same object for the same definition, so that connections which share a list share its words. */
  ofTool(definition: ToolDefinition): ToolWords;
}

const WORD = /[\p{L}\p{N}]+/gu;
/** Where one word of `listOpenPRs2` ends and the next begins. */
const CAMEL_SEAM = /(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/gu;
/** Scripts that put no space between words. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]/u;

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

  function ofText(text: string): string[] {
    const spaced = text.slice(0, MAX_TEXT_LENGTH).normalize("NFKC").replace(CAMEL_SEAM, " ").toLowerCase();
    const words = spaced.match(WORD) ?? [];
    return words
      .flatMap((word) => (UNSPACED.test(word) ? [...segmenter.segment(word)].map(({ segment }) => segment) : [word]))
      .map(stemOf);
  }

  function readTool({ name, description, inputSchema, annotations, listed }: ToolDefinition): ToolWords {
    const weights = new Map<string, number>();
    const add = (text: string, weight: number): void => {
      for (const stem of ofText(text)) if ((weights.get(stem) ?? 0) < weight) weights.set(stem, weight);
    };
    add(name, IN_NAME);
    const nameLength = weights.size;
    if (typeof listed?.title === "string") add(listed.title, IN_TITLE);
    add(annotations.category ?? "", IN_CATEGORY);
    add(description, IN_DESCRIPTION);
    const { properties } = inputSchema;
    const parameters = isJsonObject(properties) ? Object.keys(properties).slice(0, MAX_PARAMETERS) : [];
    add(parameters.join(" "), IN_PARAMETER);
    const sorted = [...weights].sort(([a], [b]) => (a < b ? -1 : 1));
    return {
      stems: sorted.map(([stem]) => stem),
      weights: Uint8Array.from(sorted, ([, weight]) => weight),
      nameLength,
    };
  }

  return {
    ofText,
    ofTool(definition) {
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
  if (isTellingStart(stem)) {
    for (let at = low; stems[at]?.startsWith(stem) === true; at += 1) best = Math.max(best, (weights[at] ?? 0) / 2);
  }
  return best;
}

/** One or two letters begin half of all words; one character of other scripts says more. */
function isTellingStart(stem: string): boolean {
  return stem.length > 2 || /\P{ASCII}/u.test(stem);
}
