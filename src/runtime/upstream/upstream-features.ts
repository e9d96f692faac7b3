import type { Connection } from "../../connections/connection.ts";
import type { Principal } from "../../identity/principal.ts";
import type { ClientIdentity } from "../../integrations/relayed-client.ts";
import type { Notification, Relay } from "../../integrations/relay.ts";
import type { JsonObject } from "../../json.ts";

export interface RelayOptions extends Relay {
  /** Aborted when the caller disconnects or cancels; this also cancels the upstream request. */
  readonly signal: AbortSignal;
  /** Called when the request begins to wait for its upstream. */
  readonly onSent?: (() => void) | undefined;
}

/**
 * The combined features of the visible upstreams, as MCP ServerCapabilities. A missing key means that no upstream has
 * the feature.
 */
export interface UpstreamCapabilities {
  readonly resources?: { readonly subscribe?: boolean; readonly listChanged?: boolean };
  readonly prompts?: { readonly listChanged?: boolean };
  readonly completions?: Record<string, never>;
  readonly logging?: Record<string, never>;
  readonly extensions?: JsonObject;
}

/** A result as JSON text, as its upstream wrote it but with the names and URIs that the client knows. */
export interface FeatureResult {
  readonly text: string;
  /** How long clients may cache the result, in milliseconds; undefined if the upstream does not say. */
  readonly ttlMs: number | undefined;
}

/** What MCP servers tell clients about themselves. */
export interface UpstreamIntroduction {
  readonly capabilities: UpstreamCapabilities;
  /** The upstream's own `Implementation`, for a principal bound to its connection. */
  readonly serverInfo: JsonObject | undefined;
  /** The instructions of the upstream, or of all upstreams under the names of their connections. */
  readonly instructions: string | undefined;
}

/** The notifications that a client wants outside of requests. */
export interface NotificationFilter {
  readonly resourcesListChanged: boolean;
  readonly promptsListChanged: boolean;
  /** The subscribed resources, by the URIs that the client knows. */
  readonly resourceUris: ReadonlySet<string>;
  /** Undefined if the client shares its upstream sessions. */
  readonly client: ClientIdentity | undefined;
}

/**
 * The features of `mcp` connections beyond tools. The agent-enabled connections that the principal reaches are visible.
 *
 * A prompt keeps its name while only one visible connection has it; otherwise it is called `name__<id>`. URIs of
 * resources and templates are `patchbay://<id>/<uri>`, those of apps `ui://patchbay/<id>/<rest>` and those of skills
 * `skill://patchbay/<id>/<rest>`, in lists and in results alike; a principal bound to one connection gets them as they
 * are. A URI without qualifier resolves to the only connection that lists it, has a listed skill around it or a
 * matching template, or to the only one with resources. Sessions do not store these names, unlike those of tools,
 * because they only read.
 *
 * A pending or failed connection lists nothing, and a request for it fails with the reason. Requests are not in the
 * call history. Every token with a reading scope may read resources, prompts and skills.
 *
 * Results contain the fields that 2025-11-25 and 2026-07-28 share; the protocol handler adds `resultType`, `ttlMs` and
 * `cacheScope`. Every method throws DomainError: `invalid` for a wrong argument or cursor, `not_found` for an unknown
 * name or URI, `unavailable` when the upstream cannot be reached; RpcError with the upstream's error; or the reason of
 * the signal.
 */
export interface UpstreamFeatures {
  /** Returns what is known, and waits briefly for upstreams that are not listed yet. */
  capabilities(principal: Principal): UpstreamCapabilities | Promise<UpstreamCapabilities>;
  introduce(principal: Principal): Promise<UpstreamIntroduction>;
  /** Returns the upstream's `Implementation` for a principal bound to its connection, if it is known already. */
  knownServerInfo(principal: Principal): JsonObject | undefined;
  /** Returns the result of a tool with the URIs that the client can request. */
  withClientLinks(principal: Principal, connection: Connection, json: string): string;
  /** `{resources, nextCursor?}`, cached, in a stable order. */
  listResources(principal: Principal, cursor: string | undefined, options: RelayOptions): Promise<FeatureResult>;
  /** `{resourceTemplates, nextCursor?}`. */
  listResourceTemplates(
    principal: Principal,
    cursor: string | undefined,
    options: RelayOptions,
  ): Promise<FeatureResult>;
  /** `{contents}` with the URIs that the client knows. */
  readResource(principal: Principal, uri: string, options: RelayOptions): Promise<FeatureResult>;
  /** `{prompts, nextCursor?}`. */
  listPrompts(principal: Principal, cursor: string | undefined, options: RelayOptions): Promise<FeatureResult>;
  /** `{description?, messages}`. */
  getPrompt(
    principal: Principal,
    name: string,
    args: JsonObject | undefined,
    options: RelayOptions,
  ): Promise<FeatureResult>;
  /** `{skills, nextCursor?}` of the skills extension (SEP-2640). */
  listSkills(principal: Principal, cursor: string | undefined): Promise<FeatureResult>;
  /** `{skill}` by the URI of its `SKILL.md`, listed or not. */
  getSkill(principal: Principal, uri: string, options: RelayOptions): Promise<FeatureResult>;
  /** `{resources, nextCursor?}`: the direct children of a directory. The cursor is the upstream's. */
  readDirectory(
    principal: Principal,
    uri: string,
    cursor: string | undefined,
    options: RelayOptions,
  ): Promise<FeatureResult>;
  /** `{completion}`; `params` are those of the request: `ref`, `argument`, `context?`. */
  complete(principal: Principal, params: JsonObject, options: RelayOptions): Promise<FeatureResult>;
  /** Throws `not_found` or `invalid` unless a visible upstream has the resource and supports subscriptions. */
  checkSubscription(principal: Principal, uri: string): Promise<void>;
  /**
   * Subscribes the session of the client's calls at the upstream. Throws `not_found` unless a visible upstream has the
   * resource and supports subscriptions. The protocol handler stores the subscription.
   */
  subscribe(principal: Principal, uri: string, options: RelayOptions): Promise<void>;
  /**
   * Sends the notifications `resources/updated`, `resources/list_changed` and `prompts/list_changed` that the filter
   * selects. `onNotification` must not throw.
   */
  follow(
    principal: Principal,
    filter: NotificationFilter,
    onNotification: (notification: Notification) => void,
  ): FollowedChanges;
}

/** The change notifications of one open stream. */
export interface FollowedChanges {
  /** Reads the filter again, and resolves when the upstreams know the subscriptions, within 20 seconds. Never rejects. */
  settle(): Promise<void>;
  stop(): void;
}
