import { DomainError, invalid } from "../../domain-error.ts";
import type { Offer, OfferedItem } from "../../integrations/features.ts";
import { looksQualified, printable, splitQualifiedName } from "../tools/tool-name.ts";
import { matchesTemplate, qualifyUri, splitQualifiedUri } from "./upstream-uri.ts";
import { qualifyPromptName, type Source, type UpstreamView } from "./upstream-view.ts";

/** How many other names an answer offers. */
const MAX_CANDIDATES = 20;

/** What a name or URI means: whom to ask, and by what name. */
export interface Meaning {
  readonly source: Source;
  /** As the upstream calls it. */
  readonly key: string;
}

/** A kind of thing that clients name. */
interface Kind {
  /** What a sentence calls it, and the request's field. */
  readonly noun: string;
  readonly field: string;
  /** Whether an upstream that offers such things at all may know more of them than it lists. */
  readonly isOffered: (offer: Offer) => boolean;
  readonly itemsOf: (offer: Offer) => readonly OfferedItem[];
  readonly qualify: (key: string, connectionId: number) => string;
}

const PROMPT: Kind = {
  noun: "prompt",
  field: "name",
  isOffered: ({ capabilities }) => capabilities.prompts,
  itemsOf: ({ prompts }) => prompts,
  qualify: qualifyPromptName,
};
const RESOURCE: Kind = {
  noun: "resource",
  field: "uri",
  isOffered: ({ capabilities }) => capabilities.resources,
  itemsOf: ({ resources }) => resources,
  qualify: qualifyUri,
};

/** Whom a prompt's name means. Throws `invalid` when several could be meant, `not_found`, or `unavailable` with why it cannot be asked. */
export function resolvePrompt(view: UpstreamView, name: string): Meaning {
  const offering = view.byPrompt.get(name) ?? [];
  if (offering.length > 0 && !looksQualified(name)) return one(PROMPT, name, offering);
  const parts = splitQualifiedName(name);
  const meant = parts && qualified(view, parts.connectionId, parts.name);
  if (meant !== undefined) return meant;
  return unlisted(view, PROMPT, name, offering);
}

/** Whom a resource's URI means. Throws as `resolvePrompt` does. */
export function resolveResource(view: UpstreamView, uri: string): Meaning {
  const parts = splitQualifiedUri(uri);
  const meant = parts && qualified(view, parts.connectionId, parts.uri);
  if (meant !== undefined) return meant;
  const listing = view.byUri.get(uri) ?? [];
  if (listing.length > 0) return one(RESOURCE, uri, listing);
  const matching = view.sources.filter(({ offer }) =>
    offer?.resourceTemplates.some(({ key }) => matchesTemplate(key, uri)),
  );
  if (matching.length > 0) return one(RESOURCE, uri, matching);
  return unlisted(view, RESOURCE, uri, []);
}

/** Whom the URI or template of a completion's reference means. Throws as `resolvePrompt` does. */
export function resolveTemplate(view: UpstreamView, template: string): Meaning {
  const offering = view.byTemplate.get(template) ?? [];
  if (offering.length > 0 && splitQualifiedUri(template) === undefined) return one(RESOURCE, template, offering);
  return resolveResource(view, template);
}

/** The URI that clients know a resource of a source by: its own while that means no other. */
export function clientUri(view: UpstreamView, source: Source, uri: string): string {
  try {
    const meaning = resolveResource(view, uri);
    if (meaning.source.connection.id === source.connection.id && meaning.key === uri) return uri;
  } catch {
    // It means several, or none for sure.
  }
  return qualifyUri(uri, source.connection.id);
}

function one(kind: Kind, key: string, offering: readonly Source[]): Meaning {
  const [only] = offering;
  if (only !== undefined && offering.length === 1) return { source: only, key };
  throw ambiguous(kind, key, offering);
}

function ambiguous(kind: Kind, key: string, offering: readonly Source[]): DomainError {
  const names = offering
    .slice(0, MAX_CANDIDATES)
    .map(({ connection }) => `${kind.qualify(key, connection.id)} (connection "${connection.name}")`);
  return invalid(
    kind.field,
    `The ${kind.noun} "${printable(key)}" does not say which connection is meant. Ask for one of these instead: ${names.join(", ")}.`,
  );
}

/** What a qualified form means; whether the upstream knows the rest of it is for the upstream to say. */
function qualified(view: UpstreamView, connectionId: number, key: string): Meaning | undefined {
  const source = view.sources.find(({ connection }) => connection.id === connectionId);
  if (source !== undefined) return { source, key };
  const refused = view.refused.find(({ connection }) => connection.id === connectionId);
  if (refused !== undefined) throw new DomainError("unavailable", refused.reason);
  return undefined;
}

/** What nobody lists: where only one connection could know it, that one is asked. */
function unlisted(view: UpstreamView, kind: Kind, key: string, offering: readonly Source[]): Meaning {
  // Offered by one whose name for it has the form of a qualified one, so that it goes by the qualified form alone.
  if (offering.length > 0) throw ambiguous(kind, key, offering);
  const isListed = (offer: Offer | undefined): boolean =>
    offer !== undefined && kind.itemsOf(offer).some((item) => item.key === key);
  const meant = view.refused.find(({ offer }) => isListed(offer));
  if (meant !== undefined) throw new DomainError("unavailable", meant.reason);
  const possible = view.sources.filter(({ offer }) => offer === undefined || kind.isOffered(offer));
  const [only] = possible;
  if (only !== undefined && possible.length === 1) return { source: only, key };
  const [refused] = view.refused;
  if (refused !== undefined && possible.length === 0) throw new DomainError("unavailable", refused.reason);
  const form = kind.qualify(kind === PROMPT ? "<name>" : "<uri>", 0).replace("0", "<connection id>");
  const advice = possible.length > 1 ? ` To name one that is not listed, say of which connection: ${form}.` : "";
  throw new DomainError("not_found", `Unknown ${kind.noun} "${printable(key)}".${advice}`);
}
