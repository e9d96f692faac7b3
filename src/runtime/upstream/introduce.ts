import type { UpstreamIntroduction } from "./upstream-features.ts";
import type { Source, UpstreamView } from "./upstream-view.ts";

/** The longest text for all connections, in UTF-16 units. */
const MAX_LENGTH = 64 * 1024;

/**
 * Returns the introduction of the only visible upstream unchanged, or the introductions of several upstreams under the
 * names of their connections.
 */
export function introduce(view: UpstreamView): UpstreamIntroduction {
  const { capabilities, sources, isQualified } = view;
  const [only] = sources;
  const notes = isQualified ? joined(sources) : truncationNote(only);
  if (isQualified) return { capabilities, serverInfo: undefined, instructions: notes };
  const own = only?.listing?.server;
  const texts = [own?.instructions, notes].filter((text) => text !== undefined);
  return {
    capabilities,
    serverInfo: own?.info,
    instructions: texts.length === 0 ? undefined : texts.join("\n\n"),
  };
}

function joined(sources: readonly Source[]): string | undefined {
  const sections = sources.flatMap((source) => {
    const texts = [aboutServer(source), source.listing?.server.instructions, truncationNote(source)];
    const known = texts.filter((text) => text !== undefined);
    return known.length === 0 ? [] : [`## ${source.connection.name}\n\n${known.join("\n\n")}`];
  });
  const kept: string[] = [];
  let length = 0;
  for (const section of sections) {
    length += section.length;
    if (length <= MAX_LENGTH) kept.push(section);
  }
  const leftOut = sections.length - kept.length;
  if (leftOut > 0) kept.push(`The instructions of ${leftOut} more connections are too long to be included.`);
  return kept.length === 0 ? undefined : kept.join("\n\n");
}

/** A line with the title and website of a server that states them. */
function aboutServer({ listing }: Source): string | undefined {
  const { title, websiteUrl } = listing?.server.info ?? {};
  const texts = [title, websiteUrl].flatMap((text) => (typeof text === "string" && text !== "" ? [text] : []));
  return texts.length === 0 ? undefined : texts.join(", ");
}

function truncationNote(source: Source | undefined): string | undefined {
  const truncated = source?.listing?.truncated ?? [];
  return truncated.length === 0
    ? undefined
    : `This server has more ${truncated.join(" and ")} than are listed here; the others can still be requested by name or URI.`;
}
