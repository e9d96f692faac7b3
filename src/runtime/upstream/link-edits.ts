import { applyEdits, elementsOf, memberOf, type JsonSpan } from "../../json-text.ts";

/** The step to each element of an array in a path. A value that is no array counts as its only element. */
const EACH = Symbol("each");

type Path = readonly (string | typeof EACH)[];

/** Paths at which a tool or its result names its app (MCP Apps; the flat keys are earlier forms). */
const APP_LINKS: readonly Path[] = [
  ["_meta", "ui", "resourceUri"],
  ["_meta", "ui/resourceUri"],
  ["_meta", "openai/outputTemplate"],
];

/** The paths of resource URIs in MCP's objects. */
export const LINKS = {
  tool: APP_LINKS,
  callResult: [["content", EACH, "uri"], ["content", EACH, "resource", "uri"], ...APP_LINKS],
  prompt: [
    ["messages", EACH, "content", EACH, "uri"],
    ["messages", EACH, "content", EACH, "resource", "uri"],
  ],
  contents: [["contents", EACH, "uri"]],
  skill: [["uri"], ["resources", EACH, "uri"]],
  skillResult: [
    ["skill", "uri"],
    ["skill", "resources", EACH, "uri"],
  ],
  directory: [["resources", EACH, "uri"]],
} satisfies Record<string, readonly Path[]>;

const MAY_LINK = ['"uri"', '"resourceUri"', '"ui/resourceUri"', '"openai/outputTemplate"'];

/** Renames the URIs at these places of a JSON text and leaves everything else as it is. */
export function renameLinks(text: string, paths: readonly Path[], rename: (uri: string) => string): string {
  if (!MAY_LINK.some((key) => text.includes(key))) return text;
  const edits = paths
    .flatMap((path) => spansAt(text, { start: 0, end: text.length }, path))
    .flatMap(({ start, end }) => {
      if (text.charAt(start) !== '"') return [];
      const uri = String(JSON.parse(text.slice(start, end)));
      const renamed = rename(uri);
      return renamed === uri ? [] : [{ start, end, text: JSON.stringify(renamed) }];
    });
  return applyEdits(
    text,
    edits.sort((a, b) => a.start - b.start),
  );
}

function spansAt(text: string, span: JsonSpan, [step, ...rest]: Path): readonly JsonSpan[] {
  if (step === undefined) return [span];
  if (step === EACH) {
    const elements = text.charAt(span.start) === "[" ? elementsOf(text, span.start) : [span];
    return elements.flatMap((element) => spansAt(text, element, rest));
  }
  const member = memberOf(text, step, span.start);
  return member === undefined ? [] : spansAt(text, member, rest);
}
