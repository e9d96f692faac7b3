import type { Connection } from "../../connections/connection.ts";
import type { FeatureListing, ListedFeature } from "../../integrations/features.ts";
import type { JsonObject } from "../../json.ts";
import { withMembers } from "../../json-text.ts";
import { looksQualified } from "../tools/tool-name.ts";
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
  /** Connections by the names and URIs at the upstreams. */
  readonly byUri: ReadonlyMap<string, readonly Source[]>;
  readonly byTemplate: ReadonlyMap<string, readonly Source[]>;
  readonly byPrompt: ReadonlyMap<string, readonly Source[]>;
}

export function computeUpstreamView(
  sources: readonly Source[],
  unavailable: readonly UnavailableSource[],
  isQualified: boolean,
): UpstreamView {
  const byUri = ownersByKey(sources, (listing) => listing.resources);
  const byTemplate = ownersByKey(sources, (listing) => listing.resourceTemplates);
  const byPrompt = ownersByKey(sources, (listing) => listing.prompts);
  const nameUri = isQualified ? qualifyUri : (uri: string): string => uri;
  return {
    isQualified,
    sources,
    unavailable,
    // Requests for an unavailable connection fail with its reason instead of "Method not found".
    capabilities: capabilitiesOf([...sources, ...unavailable]),
    resources: listed(sources, "uri", (listing) => listing.resources, nameUri),
    resourceTemplates: listed(sources, "uriTemplate", (listing) => listing.resourceTemplates, nameUri),
    prompts: listed(
      sources,
      "name",
      (listing) => listing.prompts,
      (name, id) => (byPrompt.get(name)?.length === 1 && !looksQualified(name) ? name : qualifyPromptName(name, id)),
    ),
    byUri,
    byTemplate,
    byPrompt,
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

function listed(
  sources: readonly Source[],
  keyName: string,
  itemsOf: (listing: FeatureListing) => readonly ListedFeature[],
  nameFor: (key: string, connectionId: number) => string,
): readonly NamedItem[] {
  return sources
    .flatMap(({ connection, listing }) =>
      (listing === undefined ? [] : itemsOf(listing)).map((item) => {
        const name = nameFor(item.key, connection.id);
        return name === item.key ? item : renamed(item, keyName, name);
      }),
    )
    .sort((a, b) => (a.key < b.key ? -1 : 1));
}

/** Views of many principals share the renamed items. */
const renamedItems = new WeakMap<ListedFeature, NamedItem>();

function renamed(item: ListedFeature, keyName: string, name: string): NamedItem {
  const known = renamedItems.get(item);
  if (known?.key === name) return known;
  const named = { key: name, json: withMembers(item.json, { [keyName]: JSON.stringify(name) }) };
  renamedItems.set(item, named);
  return named;
}

function capabilitiesOf(sources: readonly Pick<Source, "listing">[]): UpstreamCapabilities {
  const all = sources.flatMap(({ listing }) => (listing === undefined ? [] : [listing.capabilities]));
  const subscribe = all.some((one) => one.subscribe);
  const extensions: JsonObject = Object.fromEntries(all.flatMap((one) => Object.entries(one.extensions)));
  return {
    ...(all.some((one) => one.resources) ? { resources: { subscribe, listChanged: true } } : {}),
    ...(all.some((one) => one.prompts) ? { prompts: { listChanged: true } } : {}),
    ...(all.some((one) => one.completions) ? { completions: {} } : {}),
    ...(all.some((one) => one.logging) ? { logging: {} } : {}),
    ...(Object.keys(extensions).length > 0 ? { extensions } : {}),
  };
}
