import type { Connection } from "../../connections/connection.ts";
import type { Offer, OfferedItem } from "../../integrations/features.ts";
import type { JsonObject } from "../../json.ts";
import { looksQualified } from "../tools/tool-name.ts";
import type { UpstreamCapabilities } from "./upstream-features.ts";
import { qualifyUri, splitQualifiedUri } from "./upstream-uri.ts";

/** An item under the name or URI that clients know it by. */
export interface ListedItem {
  readonly key: string;
  readonly item: JsonObject;
}

/** A connection that can be asked, with what is known of its offer. */
export interface Source {
  readonly connection: Connection;
  /** Undefined while its upstream could not be asked. */
  readonly offer: Offer | undefined;
}

/** A connection that cannot be asked now. */
export interface RefusedSource {
  readonly connection: Connection;
  /** Why, and what would change that. */
  readonly reason: string;
  /** What it offered when it could be asked. */
  readonly offer: Offer | undefined;
}

/** What the connections in view offer together. */
export interface UpstreamView {
  readonly sources: readonly Source[];
  readonly refused: readonly RefusedSource[];
  readonly capabilities: UpstreamCapabilities;
  /** Each list by the names or URIs that clients know, ascending by UTF-16 units. */
  readonly resources: readonly ListedItem[];
  readonly resourceTemplates: readonly ListedItem[];
  readonly prompts: readonly ListedItem[];
  /** Who offers what, by the names and URIs of the upstreams. */
  readonly byUri: ReadonlyMap<string, readonly Source[]>;
  readonly byTemplate: ReadonlyMap<string, readonly Source[]>;
  readonly byPrompt: ReadonlyMap<string, readonly Source[]>;
}

/** One view over all sources. */
export function computeUpstreamView(sources: readonly Source[], refused: readonly RefusedSource[]): UpstreamView {
  const byUri = offerers(sources, (offer) => offer.resources);
  const byTemplate = offerers(sources, (offer) => offer.resourceTemplates);
  const byPrompt = offerers(sources, (offer) => offer.prompts);
  const nameUri = (by: ReadonlyMap<string, readonly Source[]>) => (uri: string, id: number) =>
    by.get(uri)?.length === 1 && splitQualifiedUri(uri) === undefined ? uri : qualifyUri(uri, id);
  return {
    sources,
    refused,
    // What cannot be used just now is refused with the reason, not with a method that does not exist.
    capabilities: capabilitiesOf([...sources, ...refused]),
    resources: listed(sources, "uri", (offer) => offer.resources, nameUri(byUri)),
    resourceTemplates: listed(sources, "uriTemplate", (offer) => offer.resourceTemplates, nameUri(byTemplate)),
    prompts: listed(
      sources,
      "name",
      (offer) => offer.prompts,
      (name, id) => (byPrompt.get(name)?.length === 1 && !looksQualified(name) ? name : qualifyPromptName(name, id)),
    ),
    byUri,
    byTemplate,
    byPrompt,
  };
}

/** `name__<connection id>`: as for tools, but never cut, since no client bounds it. */
export function qualifyPromptName(name: string, connectionId: number): string {
  return `${name}__${connectionId}`;
}

function offerers(
  sources: readonly Source[],
  itemsOf: (offer: Offer) => readonly OfferedItem[],
): ReadonlyMap<string, readonly Source[]> {
  const by = new Map<string, Source[]>();
  for (const source of sources) {
    for (const { key } of source.offer === undefined ? [] : itemsOf(source.offer)) {
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
  itemsOf: (offer: Offer) => readonly OfferedItem[],
  nameFor: (key: string, connectionId: number) => string,
): readonly ListedItem[] {
  return sources
    .flatMap(({ connection, offer }) =>
      (offer === undefined ? [] : itemsOf(offer)).map(({ key, item }) => {
        const name = nameFor(key, connection.id);
        const named: JsonObject = name === key ? item : { ...item, [keyName]: name };
        return { key: name, item: named };
      }),
    )
    .sort((a, b) => (a.key < b.key ? -1 : 1));
}

function capabilitiesOf(sources: readonly Pick<Source, "offer">[]): UpstreamCapabilities {
  const all = sources.flatMap(({ offer }) => (offer === undefined ? [] : [offer.capabilities]));
  const subscribe = all.some((one) => one.subscribe);
  return {
    ...(all.some((one) => one.resources) ? { resources: { subscribe, listChanged: true } } : {}),
    ...(all.some((one) => one.prompts) ? { prompts: { listChanged: true } } : {}),
    ...(all.some((one) => one.completions) ? { completions: {} } : {}),
    ...(all.some((one) => one.logging) ? { logging: {} } : {}),
  };
}
