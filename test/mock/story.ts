import type { JsonObject } from "../../src/json.ts";
import { type Answer, type Document, listOperations, resolve } from "../contract/document.ts";

/** The parts of a request that select the response. */
export interface Asked {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly body: JsonObject | undefined;
}

/** Returns the `Prefer` header for a request, or undefined if Prism's first example fits. */
export type Choose = (asked: Asked) => string | undefined;

interface Chapter {
  readonly method: string;
  readonly path: RegExp;
  readonly isLiteral: boolean;
  readonly queryNames: ReadonlySet<string>;
  readonly statuses: ReadonlySet<string>;
  readonly examples: readonly AnsweringExample[];
}

/** An example with one kind of request that it answers. */
interface AnsweringExample {
  readonly prefer: string;
  readonly when: ReadonlyMap<string, readonly string[]>;
}

/**
 * Reads from the document which example answers which request. An example with `x-when`, successful or not, answers
 * requests whose path, query or body has these values. An id without an example returns 404, and an unknown query
 * parameter 400, like in the service.
 */
export function createStory(document: Document): Choose {
  const chapters = listOperations(document).map(({ method, path, operation, parameters }): Chapter => {
    return {
      method,
      path: new RegExp(`^${path.replaceAll(/\{(\w+)\}/g, "(?<$1>[^/]+)")}$`),
      isLiteral: !path.includes("{"),
      queryNames: new Set(parameters.filter((each) => each.in === "query").map((each) => each.name)),
      statuses: new Set(Object.keys(operation.responses)),
      examples: Object.entries(operation.responses).flatMap(([status, answer]) =>
        readExamples(document, status, answer),
      ),
    };
  });
  const known = knownIds(chapters);
  const inOrder = chapters.toSorted((one, other) => Number(other.isLiteral) - Number(one.isLiteral));

  return ({ method, target, body }) => {
    const { pathname, searchParams } = new URL(target, "http://mock");
    const chapter = inOrder.find((each) => each.method === method && each.path.test(pathname));
    if (chapter === undefined) return undefined;
    const ids = Object.entries(chapter.path.exec(pathname)?.groups ?? {});
    const query = [...searchParams];
    if (chapter.statuses.has("400") && query.some(([name]) => !chapter.queryNames.has(name))) return "code=400";
    const fields = Object.entries(body ?? {}).map(([name, value]) => [name, String(value)] as const);
    // The alternate body selects the detailed view.
    const view = body?.["connection_id"] === undefined ? [] : [["view", "detailed"] as const];
    const asked = new Map([...fields, ...view, ...query, ...ids]);
    const fitting = chapter.examples.filter(({ when }) =>
      [...when].every(([name, values]) => {
        const value = asked.get(name);
        if (value === undefined) return false;
        return values.includes(value) || (values.includes(OTHER) && !isNamed(chapter, name, value));
      }),
    );
    const [best] = fitting.toSorted(
      (one, other) => other.when.size - one.when.size || countOther(other) - countOther(one),
    );
    const isUnknown = [...ids, ...query].some(([name, value]) => known.get(name)?.has(value) === false);
    // A matching error example is more specific than a 404.
    if (isUnknown && chapter.statuses.has("404") && best?.prefer.startsWith("code=") !== true) return "code=404";
    return best?.prefer;
  };
}

/** Matches values that no example of the operation uses. */
const OTHER = "*";

function countOther({ when }: AnsweringExample): number {
  return [...when.values()].filter((values) => values.includes(OTHER)).length;
}

function isNamed(chapter: Chapter, name: string, value: string): boolean {
  return chapter.examples.some(({ when }) => when.get(name)?.includes(value) === true);
}

function readExamples(document: Document, status: string, answer: Answer): AnsweringExample[] {
  return Object.values(resolve(document, answer).content ?? {}).flatMap(({ examples = {} }) =>
    Object.entries(examples).flatMap(([name, example]) =>
      [resolve(document, example)["x-when"] ?? []].flat().map((when) => ({
        prefer: status.startsWith("2") ? `example=${name}` : `code=${status}, example=${name}`,
        when: new Map(Object.entries(when).map(([field, values]) => [field, [values].flat()])),
      })),
    ),
  );
}

/** The ids in the examples: values of path parameters by name. */
function knownIds(chapters: readonly Chapter[]): ReadonlyMap<string, ReadonlySet<string>> {
  const known = new Map<string, Set<string>>();
  for (const { path, examples } of chapters) {
    for (const [name, values] of examples.flatMap(({ when }) => [...when])) {
      if (!path.source.includes(`?<${name}>`)) continue;
      const ids = known.get(name) ?? new Set();
      known.set(name, ids);
      for (const value of values) ids.add(value);
    }
  }
  return known;
}
