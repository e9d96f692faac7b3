import type { Connection } from "../../connections/connection.ts";
import type { FeatureListing, ListedFeature } from "../../integrations/features.ts";
import { isJsonObject, type JsonObject } from "../../json.ts";
import { withMembers } from "../../json-text.ts";
import { looksQualified } from "../tools/tool-name.ts";
import { LINKS, renameLinks } from "./link-edits.ts";
import type { UpstreamCapabilities } from "./upstream-features.ts";
import { qualifyUri } from "./upstream-uri.ts";

/** A listed item under the name or URI that clients know. */
export interface NamedItem {
  readonly key: string;
  /** The item as JSON. */
  readonly json: string;
}

/** A connection that can be requested. */
export interface Source {
  readonly connection: Connection;
  /** Undefined if the upstream could not be reached. */
  readonly listing: FeatureListing | undefined;
}

/** A connection that cannot be requested now. */
export interface UnavailableSource {
  readonly connection: Connection;
  /** The reason and what to do about it. */
  readonly reason: string;
  /** The last known listing. */
  readonly listing: FeatureListing | undefined;
}

/** The combined features of the visible connections. */
export interface UpstreamView {
  /** Whether URIs name their connection: always, unless the principal is bound to one connection. */
  readonly isQualified: boolean;
  readonly sources: readonly Source[];
  readonly unavailable: readonly UnavailableSource[];
  readonly capabilities: UpstreamCapabilities;
  /** Sorted by the names or URIs that clients know, in UTF-16 units. */
  readonly resources: readonly NamedItem[];
  readonly resourceTemplates: readonly NamedItem[];
  readonly prompts: readonly NamedItem[];
  readonly skills: readonly NamedItem[];
  /** Connections by the names and URIs at the upstreams. */
  readonly byUri: ReadonlyMap<string, readonly Source[]>;
  readonly byTemplate: ReadonlyMap<string, readonly Source[]>;
  readonly byPrompt: ReadonlyMap<string, readonly Source[]>;
  readonly bySkill: ReadonlyMap<string, readonly Source[]>;
}

export function computeUpstreamView(
  sources: readonly Source[],
  unavailable: readonly UnavailableSource[],
  isQualified: boolean,
): UpstreamView {
  const byUri = ownersByKey(sources, (listing) => listing.resources);
  const byTemplate = ownersByKey(sources, (listing) => listing.resourceTemplates);
  const byPrompt = ownersByKey(sources, (listing) => listing.prompts);
  const bySkill = ownersByKey(sources, (listing) => listing.skills);
  const nameUri = isQualified ? qualifyUri : (uri: string): string => uri;
  return {
    isQualified,
    sources,
    unavailable,
    // Requests for an unavailable connection fail with its reason instead of "Method not found".
    capabilities: capabilitiesOf([...sources, ...unavailable]),
    resources: listed(sources, (listing) => listing.resources, nameUri, setMember("uri")),
    resourceTemplates: listed(sources, (listing) => listing.resourceTemplates, nameUri, setMember("uriTemplate")),
    prompts: listed(
      sources,
      (listing) => listing.prompts,
      (name, id) => (byPrompt.get(name)?.length === 1 && !looksQualified(name) ? name : qualifyPromptName(name, id)),
      setMember("name"),
    ),
    skills: listed(
      sources,
      (listing) => listing.skills,
      nameUri,
      (json, _name, id) => renameLinks(json, LINKS.skill, (uri) => qualifyUri(uri, id)),
    ),
    byUri,
    byTemplate,
    byPrompt,
    bySkill,
  };
}

/** Returns `name__<connection id>`. Unlike tool names it is never shortened, because clients do not limit it. */
export function qualifyPromptName(name: string, connectionId: number): string {
  return `${name}__${connectionId}`;
}

function ownersByKey(
  sources: readonly Source[],
  itemsOf: (listing: FeatureListing) => readonly ListedFeature[],
): ReadonlyMap<string, readonly Source[]> {
  const by = new Map<string, Source[]>();
  for (const source of sources) {
    for (const { key } of source.listing === undefined ? [] : itemsOf(source.listing)) {
      const others = by.get(key);
      if (others === undefined) by.set(key, [source]);
      else others.push(source);
    }
  }
  return by;
}

/** Returns the item under another name. */
type RenameItem = (json: string, name: string, connectionId: number) => string;

const setMember =
  (key: string): RenameItem =>
  (json, name) =>
    withMembers(json, { [key]: JSON.stringify(name) });

function listed(
  sources: readonly Source[],
  itemsOf: (listing: FeatureListing) => readonly ListedFeature[],
  nameFor: (key: string, connectionId: number) => string,
  rename: RenameItem,
): readonly NamedItem[] {
  return sources
    .flatMap(({ connection, listing }) =>
      (listing === undefined ? [] : itemsOf(listing)).map((item) => {
        const name = nameFor(item.key, connection.id);
        return name === item.key ? item : renamed(item, name, () => rename(item.json, name, connection.id));
      }),
    )
    .sort((a, b) => (a.key < b.key ? -1 : 1));
}

/** Views of many principals share the renamed items. */
const renamedItems = new WeakMap<ListedFeature, NamedItem>();

function renamed(item: ListedFeature, name: string, rename: () => string): NamedItem {
  const known = renamedItems.get(item);
  if (known?.key === name) return known;
  const named = { key: name, json: rename() };
  renamedItems.set(item, named);
  return named;
}

function capabilitiesOf(sources: readonly Pick<Source, "listing">[]): UpstreamCapabilities {
  const all = sources.flatMap(({ listing }) => (listing === undefined ? [] : [listing.capabilities]));
  const subscribe = all.some((one) => one.subscribe);
  const extensions = all.reduce((merged, one) => mergeExtensions(merged, one.extensions), {});
  return {
    ...(all.some((one) => one.resources) ? { resources: { subscribe, listChanged: true } } : {}),
    ...(all.some((one) => one.prompts) ? { prompts: { listChanged: true } } : {}),
    ...(all.some((one) => one.completions) ? { completions: {} } : {}),
    ...(all.some((one) => one.logging) ? { logging: {} } : {}),
    ...(Object.keys(extensions).length > 0 ? { extensions } : {}),
  };
}

/** The combination supports what at least one upstream supports. */
function mergeExtensions(some: JsonObject, others: JsonObject): JsonObject {
  const merged = { ...some };
  for (const [name, settings] of Object.entries(others)) {
    const before = merged[name];
    merged[name] = isJsonObject(before) && isJsonObject(settings) ? mergeSettings(before, settings) : settings;
  }
  return merged;
}

function mergeSettings(some: JsonObject, others: JsonObject): JsonObject {
  const enabled = Object.entries(some).filter(([, value]) => value === true);
  return { ...some, ...others, ...Object.fromEntries(enabled) };
}
