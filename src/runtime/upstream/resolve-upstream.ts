import { DomainError, invalid } from "../../domain-error.ts";
import type { FeatureListing, ListedFeature } from "../../integrations/features.ts";
import { skillSettings } from "../../integrations/skills.ts";
import { looksQualified, printable, splitQualifiedName } from "../tools/tool-name.ts";
import { isInSkill, matchesTemplate, qualifyUri, splitQualifiedUri } from "./upstream-uri.ts";
import { qualifyPromptName, type Source, type UpstreamView } from "./upstream-view.ts";

/** Number of alternatives that an error lists. */
const MAX_CANDIDATES = 20;

export interface ResolvedName {
  readonly source: Source;
  /** The name or URI at the upstream. */
  readonly key: string;
}

interface FeatureKind {
  /** Used in error messages; `field` is the field of the request. */
  readonly noun: string;
  readonly field: string;
  /** Whether the upstream has this feature and may therefore have unlisted items. */
  readonly isSupported: (listing: FeatureListing) => boolean;
  readonly itemsOf: (listing: FeatureListing) => readonly ListedFeature[];
  readonly qualify: (key: string, connectionId: number) => string;
}

const PROMPT: FeatureKind = {
  noun: "prompt",
  field: "name",
  isSupported: ({ capabilities }) => capabilities.prompts,
  itemsOf: ({ prompts }) => prompts,
  qualify: qualifyPromptName,
};
const RESOURCE: FeatureKind = {
  noun: "resource",
  field: "uri",
  isSupported: ({ capabilities }) => capabilities.resources,
  itemsOf: ({ resources }) => resources,
  qualify: qualifyUri,
};

const SKILL: FeatureKind = {
  noun: "skill",
  field: "uri",
  isSupported: ({ capabilities }) => skillSettings(capabilities) !== undefined,
  itemsOf: ({ skills }) => skills,
  qualify: qualifyUri,
};

/**
 * Finds the connection of a prompt. Throws `invalid` for an ambiguous name, `not_found`, or `unavailable` with the
 * reason.
 */
export function resolvePrompt(view: UpstreamView, name: string): ResolvedName {
  const candidates = view.byPrompt.get(name) ?? [];
  if (candidates.length > 0 && !looksQualified(name)) return one(PROMPT, name, candidates);
  const parts = splitQualifiedName(name);
  const meant = parts && qualified(view, parts.connectionId, parts.name);
  if (meant !== undefined) return meant;
  return unlisted(view, PROMPT, name, candidates);
}

/** Finds the connection of a resource. Throws like `resolvePrompt`. */
export function resolveResource(view: UpstreamView, uri: string): ResolvedName {
  return resolveUri(view, RESOURCE, uri, view.byUri.get(uri) ?? []);
}

/** Finds the connection of a skill by the URI of its `SKILL.md`. Throws like `resolvePrompt`. */
export function resolveSkill(view: UpstreamView, uri: string): ResolvedName {
  return resolveUri(view, SKILL, uri, view.bySkill.get(uri) ?? []);
}

function resolveUri(view: UpstreamView, kind: FeatureKind, uri: string, candidates: readonly Source[]): ResolvedName {
  const parts = view.isQualified || candidates.length === 0 ? splitQualifiedUri(uri) : undefined;
  const meant = parts && qualified(view, parts.connectionId, parts.uri);
  if (meant !== undefined) return meant;
  if (candidates.length > 0) return one(kind, uri, candidates);
  // Servers of skills tend to have one template that matches the files of every skill.
  for (const mayHave of [hasInSkill, matchesAnyTemplate]) {
    const owners = view.sources.filter(({ listing }) => listing !== undefined && mayHave(listing, uri));
    if (owners.length > 0) return one(kind, uri, owners);
  }
  return unlisted(view, kind, uri, []);
}

function hasInSkill({ skills }: FeatureListing, uri: string): boolean {
  return skills.some(({ key }) => isInSkill(key, uri));
}

function matchesAnyTemplate({ resourceTemplates }: FeatureListing, uri: string): boolean {
  return resourceTemplates.some(({ key }) => matchesTemplate(key, uri));
}

/** Finds the connection for the URI or template of a completion reference. Throws like `resolvePrompt`. */
export function resolveTemplate(view: UpstreamView, template: string): ResolvedName {
  const candidates = view.byTemplate.get(template) ?? [];
  if (candidates.length > 0 && splitQualifiedUri(template) === undefined) return one(RESOURCE, template, candidates);
  return resolveResource(view, template);
}

/** Returns the URI under which clients of the view know a URI of an upstream. */
export function clientUri(view: UpstreamView, { connection, listing }: Source, uri: string): string {
  return view.isQualified ? linkUri(connection.id, listing, uri) : uri;
}

/** Clients fetch a web page themselves, unless its upstream lists it as a resource. */
export function linkUri(connectionId: number, listing: FeatureListing | undefined, uri: string): string {
  return WEB.test(uri) && (listing === undefined || !uriSetOf(listing).has(uri)) ? uri : qualifyUri(uri, connectionId);
}

const WEB = /^https?:/i;
const uriSets = new WeakMap<FeatureListing, ReadonlySet<string>>();

function uriSetOf(listing: FeatureListing): ReadonlySet<string> {
  const uris = uriSets.get(listing) ?? new Set(listing.resources.map(({ key }) => key));
  uriSets.set(listing, uris);
  return uris;
}

function one(kind: FeatureKind, key: string, candidates: readonly Source[]): ResolvedName {
  const [only] = candidates;
  if (only !== undefined && candidates.length === 1) return { source: only, key };
  throw ambiguous(kind, key, candidates);
}

function ambiguous(kind: FeatureKind, key: string, candidates: readonly Source[]): DomainError {
  const names = candidates
    .slice(0, MAX_CANDIDATES)
    .map(({ connection }) => `${kind.qualify(key, connection.id)} (connection "${connection.name}")`);
  return invalid(
    kind.field,
    `The ${kind.noun} "${printable(key)}" does not say which connection is meant. Ask for one of these instead: ${names.join(", ")}.`,
  );
}

/** Resolves a qualified name. The item may be unlisted; the upstream decides whether it exists. */
function qualified(view: UpstreamView, connectionId: number, key: string): ResolvedName | undefined {
  const source = view.sources.find(({ connection }) => connection.id === connectionId);
  if (source !== undefined) return { source, key };
  const unavailable = view.unavailable.find(({ connection }) => connection.id === connectionId);
  if (unavailable !== undefined) throw new DomainError("unavailable", unavailable.reason);
  return undefined;
}

/** Resolves an unlisted name to the only connection that could have it. */
function unlisted(view: UpstreamView, kind: FeatureKind, key: string, candidates: readonly Source[]): ResolvedName {
  // A listed name with the form of a qualified name requires its own qualified form.
  if (candidates.length > 0) throw ambiguous(kind, key, candidates);
  const isListed = (listing: FeatureListing | undefined): boolean =>
    listing !== undefined && kind.itemsOf(listing).some((item) => item.key === key);
  const meant = view.unavailable.find(({ listing }) => isListed(listing));
  if (meant !== undefined) throw new DomainError("unavailable", meant.reason);
  const possible = view.sources.filter(({ listing }) => listing === undefined || kind.isSupported(listing));
  const [only] = possible;
  if (only !== undefined && possible.length === 1) return { source: only, key };
  const [unavailable] = view.unavailable;
  if (unavailable !== undefined && possible.length === 0) throw new DomainError("unavailable", unavailable.reason);
  const form = kind.qualify(kind === PROMPT ? "<name>" : "<uri>", 0).replace("0", "<connection id>");
  const advice = possible.length > 1 ? ` Call an unlisted one by its qualified form: ${form}.` : "";
  throw new DomainError("not_found", `Unknown ${kind.noun} "${printable(key)}".${advice}`);
}
