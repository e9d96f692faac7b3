import type { JsonObject } from "../../src/json.ts";
import { type Document, listExamples, listOperations, resolve } from "../contract/document.ts";

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
  readonly examples: readonly (readonly [name: string, when: ReadonlyMap<string, string>])[];
}

/**
 * Reads from the document which example answers what: an example with `x-when` is meant for requests whose path, query or
 * body has these values. A connection, client, token or integration that no example knows is a 404, and a query parameter
 * that the operation does not have is a 400, as the service has it.
 */
export function createStory(document: Document): Choose {
  const chapters = listOperations(document).map(({ method, path, operation, parameters }): Chapter => {
    const [, success] = Object.entries(operation.responses).find(([status]) => status.startsWith("2")) ?? [];
    const media = Object.values(success === undefined ? {} : (resolve(document, success).content ?? {}));
    return {
      method,
      path: new RegExp(`^${path.replaceAll(/\{(\w+)\}/g, "(?<$1>[^/]+)")}$`),
      isLiteral: !path.includes("{"),
      queryNames: new Set(parameters.filter((each) => each.in === "query").map((each) => each.name)),
      statuses: new Set(Object.keys(operation.responses)),
      examples: media.flatMap((each) =>
        listExamples(document, each).map(([name]) => {
          const when = resolve(document, each.examples?.[name] ?? {})["x-when"] ?? {};
          return [name, new Map(Object.entries(when))] as const;
        }),
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
    const isUnknown = [...ids, ...query].some(([name, value]) => known.get(name)?.has(value) === false);
    if (isUnknown && chapter.statuses.has("404")) return "code=404";

    const fields = Object.entries(body ?? {}).map(([name, value]) => [name, String(value)] as const);
    // The alternate body asks for the shape that goes with it.
    const view = body?.["connection_id"] === undefined ? [] : [["view", "detailed"] as const];
    const asked = new Map([...fields, ...view, ...query, ...ids]);
    const fitting = chapter.examples.filter(([, when]) =>
      [...when].every(([name, value]) => asked.get(name) === value),
    );
    const [best] = fitting.toSorted(([, one], [, other]) => other.size - one.size);
    return best === undefined || best[1].size === 0 ? undefined : `example=${best[0]}`;
  };
}

/** The ids that the story knows: the values of path parameters by their names. */
function knownIds(chapters: readonly Chapter[]): ReadonlyMap<string, ReadonlySet<string>> {
  const known = new Map<string, Set<string>>();
  for (const { path, examples } of chapters) {
    for (const [, when] of examples) {
      for (const [name, value] of when) {
        if (path.source.includes(`?<${name}>`)) known.set(name, (known.get(name) ?? new Set()).add(value));
      }
    }
  }
  return known;
}
