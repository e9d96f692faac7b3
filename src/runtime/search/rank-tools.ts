import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import type { ToolDefinition } from "../../integrations/tool.ts";
import type { Connection } from "../../connections/connection.ts";
import { createWordReader, NAME_WEIGHT, weightOf } from "./tool-words.ts";

/** What can be found. */
export interface Candidate {
  readonly connection: Connection;
  readonly definition: ToolDefinition;
}

/** A part of what was found, best first. */
export interface RankedPage<Item> {
  readonly items: readonly Item[];
  /** How many were found. */
  readonly totalCount: number;
}

/** Finds tools by words. */
export interface ToolRanking {
  /** The candidates that any word of the query fits; those that more of it fits, and better, come first. */
  rank<Item extends Candidate>(
    query: string,
    candidates: Iterable<Item>,
    page: { readonly limit: number; readonly offset: number },
  ): Promise<RankedPage<Item>>;
}

/** Words of a query that count; further ones are ignored. */
const MAX_WORDS = 20;
/** What a word of the connection's name or type counts. */
const CONNECTION_WEIGHT = 4;
/** How much more a tool is worth whose whole name is asked for. */
const NAME_BONUS = 0.5;
/** How long a search keeps others waiting at a time, in milliseconds, and after how many candidates it looks at the clock. */
const SLICE_MS = 5;
const CANDIDATES_PER_LOOK = 64;

/** Words that say nothing of a tool. */
const STOP_WORDS =
  "a an and any are as at be by can do does for from how i in into is it me my of on or our tell that the this to tool tools use want what which with you";

/** What each word of the query counts in one place, and how much of a name they say. */
interface Match {
  readonly weights: readonly number[];
  /** The share of the name's words that are in the query, from 0 to 1. */
  readonly nameShare: number;
}

/**
 * A ranking over the very lists that are served, so that what is found is what can be called. A word counts by where it
 * stands, and the more the rarer it is among the candidates. A definition is read once, however many connections share it.
 */
export function createToolRanking(): ToolRanking {
  const reader = createWordReader();
  const stopWords = new Set(reader.stemsOf(STOP_WORDS));

  function wordsOf(query: string): readonly string[] {
    const all = [...new Set(reader.stemsOf(query))];
    const significant = all.filter((word) => !stopWords.has(word));
    return (significant.length > 0 ? significant : all).slice(0, MAX_WORDS);
  }

  function matchTool(definition: ToolDefinition, words: readonly string[]): Match {
    const tool = reader.wordsOfTool(definition);
    const weights = words.map((word) => weightOf(tool, word));
    const inName = weights.filter((weight) => weight === NAME_WEIGHT).length;
    return { weights, nameShare: tool.nameLength === 0 ? 0 : inName / tool.nameLength };
  }

  function matchConnection({ name, serverType }: Connection, words: readonly string[]): readonly number[] {
    const own = new Set(reader.stemsOf(`${name} ${serverType}`));
    return words.map((word) => (own.has(word) ? CONNECTION_WEIGHT : 0));
  }

  return {
    async rank<Item extends Candidate>(
      query: string,
      candidates: Iterable<Item>,
      { limit, offset }: { readonly limit: number; readonly offset: number },
    ) {
      const words = wordsOf(query);
      if (words.length === 0) return { items: [], totalCount: 0 };
      const slices = createTimeSlices();
      const ofTools = new Map<ToolDefinition, Match>();
      const ofConnections = new Map<Connection, readonly number[]>();
      const found: { readonly item: Item; readonly tool: Match; readonly connection: readonly number[] }[] = [];
      for (const item of candidates) {
        if (slices.isOver()) await slices.next();
        const { definition } = item;
        const tool = ofTools.get(definition) ?? matchTool(definition, words);
        ofTools.set(definition, tool);
        const connection = ofConnections.get(item.connection) ?? matchConnection(item.connection, words);
        ofConnections.set(item.connection, connection);
        if (tool.weights.some(isMatch) || connection.some(isMatch)) found.push({ item, tool, connection });
      }

      const rarities = raritiesOf([...ofTools.values()], words.length);
      const best = createTopItems(offset + limit, byName<Item>);
      for (const { item, tool, connection } of found) {
        if (slices.isOver()) await slices.next();
        best.add(item, score(tool, connection, rarities));
      }
      return { items: best.sorted().slice(offset), totalCount: found.length };
    },
  };
}

function isMatch(weight: number): boolean {
  return weight > 0;
}

/** How telling each word is: the fewer tools it fits, the more (the inverse document frequency of BM25). */
function raritiesOf(matches: readonly Match[], wordCount: number): readonly number[] {
  return Array.from({ length: wordCount }, (_, at) => {
    const count = matches.filter(({ weights }) => isMatch(weights[at] ?? 0)).length;
    return Math.log(1 + (matches.length - count + 0.5) / (count + 0.5));
  });
}

function score({ weights, nameShare }: Match, connection: readonly number[], rarities: readonly number[]): number {
  let sum = 0;
  let matching = 0;
  for (const [at, rarity] of rarities.entries()) {
    const weight = Math.max(weights[at] ?? 0, connection[at] ?? 0);
    if (weight > 0) matching += 1;
    sum += weight * rarity;
  }
  return sum * (matching / rarities.length) * (1 + NAME_BONUS * nameShare);
}

/** Of two that are worth the same: by name, then the older connection. */
function byName<Item extends Candidate>(a: Item, b: Item): number {
  if (a.definition.name === b.definition.name) return a.connection.id - b.connection.id;
  return a.definition.name < b.definition.name ? -1 : 1;
}

/** Cuts work into slices, between which others have their turn. */
function createTimeSlices(): { isOver(): boolean; next(): Promise<void> } {
  let checked = 0;
  let since = performance.now();
  return {
    isOver() {
      checked += 1;
      return checked % CANDIDATES_PER_LOOK === 0 && performance.now() - since > SLICE_MS;
    },
    async next() {
      await yieldToEventLoop();
      since = performance.now();
    },
  };
}

/** Keeps the few best of many. */
interface TopItems<Item> {
  add(item: Item, score: number): void;
  /** Those kept, best first. */
  sorted(): readonly Item[];
}

/** At most `count` items by their score, ties by `compare`; holds twice as many at a time, however many are added. */
function createTopItems<Item>(count: number, compare: (a: Item, b: Item) => number): TopItems<Item> {
  let kept: { readonly item: Item; readonly score: number }[] = [];

  function shrink(): void {
    kept.sort((a, b) => b.score - a.score || compare(a.item, b.item));
    kept = kept.slice(0, count);
  }

  return {
    add(item, score) {
      kept.push({ item, score });
      if (kept.length >= 2 * count) shrink();
    },
    sorted() {
      shrink();
      return kept.map(({ item }) => item);
    },
  };
}
