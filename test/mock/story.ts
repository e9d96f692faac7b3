import type { JsonObject } from "../../src/json.ts";
import { type Answer, type Document, listOperations, resolve } from "../contract/document.ts";

/** A request as far as it decides what the mock answers. */
export interface Asked {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly body: JsonObject | undefined;
}

/** Gives the `Prefer` that has Prism answer in the story, or undefined where its first example will do. */
export type Choose = (asked: Asked) => string | undefined;

interface Chapter {
  readonly method: string;
  readonly path: RegExp;
  readonly isLiteral: boolean;
  readonly queryNames: ReadonlySet<string>;
  readonly statuses: ReadonlySet<string>;
  readonly told: readonly Told[];
}

/** An example with one kind of request that it is meant for. */
interface Told {
  readonly prefer: string;
  readonly when: ReadonlyMap<string, readonly string[]>;
}

/**
 * Reads from the document which example answers what: an example with `x-when`, be it of a success or of a refusal, is
 * meant for requests whose path, query or body has these values. What has an id that no example knows is a 404, and a
 * query parameter that the operation does not have is a 400, as the service has it.
 */
export function createStory(document: Document): Choose {
  const chapters = listOperations(document).map(({ method, path, operation, parameters }): Chapter => {
    return {
      method,
      path: new RegExp(`^${path.replaceAll(/\{(\w+)\}/g, "(?<$1>[^/]+)")}$`),
      isLiteral: !path.includes("{"),
      queryNames: new Set(parameters.filter((each) => each.in === "query").map((each) => each.name)),
      statuses: new Set(Object.keys(operation.responses)),
      told: Object.entries(operation.responses).flatMap(([status, answer]) => readTold(document, status, answer)),
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
    // The alternate body asks for the shape that goes with it.
    const view = body?.["connection_id"] === undefined ? [] : [["view", "detailed"] as const];
    const asked = new Map([...fields, ...view, ...query, ...ids]);
    const fitting = chapter.told.filter(({ when }) =>
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
    // A refusal that is meant for the request tells more than that there is no such thing.
    if (isUnknown && chapter.statuses.has("404") && best?.prefer.startsWith("code=") !== true) return "code=404";
    return best?.prefer;
  };
}

/** Stands for the values that no example of the operation names. */
const OTHER = "*";

function countOther({ when }: Told): number {
  return [...when.values()].filter((values) => values.includes(OTHER)).length;
}

function isNamed(chapter: Chapter, name: string, value: string): boolean {
  return chapter.told.some(({ when }) => when.get(name)?.includes(value) === true);
}

function readTold(document: Document, status: string, answer: Answer): Told[] {
  return Object.values(resolve(document, answer).content ?? {}).flatMap(({ examples = {} }) =>
    Object.entries(examples).flatMap(([name, example]) =>
      [resolve(document, example)["x-when"] ?? []].flat().map((when) => ({
        prefer: status.startsWith("2") ? `example=${name}` : `code=${status}, example=${name}`,
        when: new Map(Object.entries(when).map(([field, values]) => [field, [values].flat()])),
      })),
    ),
  );
}

/** The ids that the story knows: the values of path parameters by their names. */
function knownIds(chapters: readonly Chapter[]): ReadonlyMap<string, ReadonlySet<string>> {
  const known = new Map<string, Set<string>>();
  for (const { path, told } of chapters) {
    for (const [name, values] of told.flatMap(({ when }) => [...when])) {
      if (!path.source.includes(`?<${name}>`)) continue;
      const ids = known.get(name) ?? new Set();
      known.set(name, ids);
      for (const value of values) ids.add(value);
    }
  }
  return known;
}
