import type { Principal } from "../../identity/principal.ts";
import type { Notification, Relay } from "../../integrations/relay.ts";
import type { JsonObject } from "../../json.ts";

/** Options of one request to an upstream. */
export interface RelayOptions extends Relay {
  /** Aborted when the caller went away or cancelled: the upstream's request in flight is cancelled. */
  readonly signal: AbortSignal;
}

/** What the upstreams in view offer together, as MCP's ServerCapabilities say it. An absent key means that none offers it. */
export interface UpstreamCapabilities {
  readonly resources?: { readonly subscribe?: boolean; readonly listChanged?: boolean };
  readonly prompts?: { readonly listChanged?: boolean };
  readonly completions?: Record<string, never>;
  readonly logging?: Record<string, never>;
}

/** What a client wants to hear of outside any request. */
export interface NotificationFilter {
  readonly resourcesListChanged: boolean;
  readonly promptsListChanged: boolean;
  /** The resources it subscribed to, by the URIs that it knows. */
  readonly resourceUris: ReadonlySet<string>;
}

/**
 * What connections of type mcp offer beyond tools; names and URIs are unambiguous across the connections in view.
 *
 * A prompt goes by its own name while exactly one connection in view offers it, else by `name__<id>`; a resource and a template
 * by its own URI while exactly one lists it, else by `patchbay://<id>/<uri>`. The qualified forms always work. A URI that nobody
 * lists means the one whose template fits it, or the one that offers resources at all. Results name resources in the same way;
 * results of tools come as the upstream sent them. Unlike tools', these names are not remembered by a session: they only read.
 *
 * A connection that is pending or failed offers nothing, and a request that means it says why. Only calls of tools are in the
 * history. Resources and prompts are for every token that may read, whatever the connection's access.
 *
 * «In view» is what `ToolViews` calls reachable: the agent-enabled connections of the account, for a principal with a
 * `connectionId` that one alone (`/mcp/{server_id}` acts with a principal that is narrowed so).
 *
 * Results are MCP's, as 2025-11-25 and 2026-07-28 share them: no `resultType`, `ttlMs`, `cacheScope` (the face adds those).
 * Every method throws `DomainError`: `invalid` for a cursor that is not ours or a wrong argument, `not_found` for a name or
 * URI that nobody in view offers, `unavailable` when the upstream cannot be asked; `RpcError` with what the upstream answered;
 * the signal's reason when aborted.
 */
export interface UpstreamFeatures {
  /** Answers from what is known of the upstreams, and waits only briefly for one that was never asked. */
  capabilities(principal: Principal): UpstreamCapabilities | Promise<UpstreamCapabilities>;
  /** `{resources, nextCursor?}`: from cache, in a stable order. */
  listResources(principal: Principal, cursor: string | undefined, options: RelayOptions): Promise<JsonObject>;
  /** `{resourceTemplates, nextCursor?}`. */
  listResourceTemplates(principal: Principal, cursor: string | undefined, options: RelayOptions): Promise<JsonObject>;
  /** `{contents}`; their URIs are those that the client knows. */
  readResource(principal: Principal, uri: string, options: RelayOptions): Promise<JsonObject>;
  /** `{prompts, nextCursor?}`. */
  listPrompts(principal: Principal, cursor: string | undefined, options: RelayOptions): Promise<JsonObject>;
  /** `{description?, messages}`. */
  getPrompt(
    principal: Principal,
    name: string,
    args: JsonObject | undefined,
    options: RelayOptions,
  ): Promise<JsonObject>;
  /** `{completion}`; `params` are the request's: `ref`, `argument`, `context?`. */
  complete(principal: Principal, params: JsonObject, options: RelayOptions): Promise<JsonObject>;
  /** Whether somebody in view knows the URI and lets it be subscribed to; throws `not_found` otherwise. The face remembers the subscription. */
  checkSubscription(principal: Principal, uri: string, options: RelayOptions): Promise<void>;
  /**
   * Follows the upstreams in view for one open stream, and answers how to stop. `hear` gets `notifications/resources/updated`,
   * `…/resources/list_changed` and `…/prompts/list_changed` that the interest covers; it never throws.
   */
  follow(
    principal: Principal,
    interest: NotificationFilter,
    onNotification: (notification: Notification) => void,
  ): () => void;
}
