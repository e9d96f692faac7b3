import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import type { ToolDefinition } from "../../integrations/tool.ts";
import type { Connection } from "../../connections/connection.ts";
import { createWordReader, NAME_WEIGHT, weightOf } from "./tool-words.ts";

export interface Candidate {
  readonly connection: Connection;
  readonly definition: ToolDefinition;
}

export interface RankedPage<Item> {
  readonly items: readonly Item[];
  /** Number of matches on all pages. */
  readonly totalCount: number;
}

export interface ToolRanking {
  /** Returns the candidates that match any word of the query; more and better matches come first. */
  rank<Item extends Candidate>(
    query: string,
    candidates: Iterable<Item>,
    page: { readonly limit: number; readonly offset: number },
  ): Promise<RankedPage<Item>>;
}

/** Further words of a query are ignored. */
const MAX_WORDS = 20;
/** Weight of a word in the name or type of the connection. */
const CONNECTION_WEIGHT = 4;
/** Bonus for a tool whose name consists of words of the query. */
const NAME_BONUS = 0.5;
/** How long a search runs before it yields to the event loop, in milliseconds. */
const SLICE_MS = 5;
const CANDIDATES_PER_LOOK = 64;

/** Words that do not help to find a tool. */
const STOP_WORDS =
  "a an and any are as at be by can do does for from how i in into is it me my of on or our tell that the this to tool tools use want what which with you";

interface Match {
  readonly weights: readonly number[];
  /** The share of words of the name that are in the query, from 0 to 1. */
  readonly nameShare: number;
}

/**
 * Ranks the tool lists in memory. The weight of a word depends on the field and on its rarity among the candidates.
 * Each definition is parsed once, even if several connections share it.
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

/** Inverse document frequency of each word, as in BM25. */
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

/** Orders equal scores by name, then by connection id. */
function byName<Item extends Candidate>(a: Item, b: Item): number {
  if (a.definition.name === b.definition.name) return a.connection.id - b.connection.id;
  return a.definition.name < b.definition.name ? -1 : 1;
}

/** Divides long work into slices and yields to the event loop between them. */
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

interface TopItems<Item> {
  add(item: Item, score: number): void;
  /** Returns the kept items, best first. */
  sorted(): readonly Item[];
}

/**
 * Keeps the `count` items with the highest scores, ties ordered by `compare`. Stores at most twice as many at a time.
 */
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
