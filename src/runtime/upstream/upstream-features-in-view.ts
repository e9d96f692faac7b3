import type { Principal } from "../../identity/principal.ts";
import type { ChangeFeed } from "../../connections/change-feed.ts";
import type { ConnectionView } from "../../connections/connection-view.ts";
import { invalid } from "../../domain-error.ts";
import type { Catalog } from "../../integrations/integration.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json.ts";
import { createUpstreamRequester, withClientUri } from "./upstream-requests.ts";
import type { CallSlots } from "../calls/call-slots.ts";
import type { CallTimes } from "../calls/call-times.ts";
import type { RunningCalls } from "../calls/running-calls.ts";
import type { WarnLog } from "../../log.ts";
import {
  clientUri,
  linkUri,
  resolvePrompt,
  resolveResource,
  resolveTemplate,
  type ResolvedName,
} from "./resolve-upstream.ts";
import { introduce } from "./introduce.ts";
import { LINKS, renameLinks } from "./link-edits.ts";
import type { FeatureResult, UpstreamFeatures } from "./upstream-features.ts";
import { createChangeFollowers } from "./change-followers.ts";
import { createUpstreamListings, type ListingFeed } from "./upstream-listings.ts";
import { listPage } from "./upstream-page.ts";
import { createUpstreamSkills } from "./upstream-skills.ts";
import type { UpstreamView } from "./upstream-view.ts";
import { createUpstreamViews } from "./upstream-views.ts";

/**
 * How long a request for a list waits for the first listing of a connection, in milliseconds. After that, the response
 * omits it.
 */
const LIST_WAIT_MS = 10_000;
/** How long other requests wait for listings, in milliseconds. The request may be for another connection. */
const REQUEST_WAIT_MS = 2_000;

export interface UpstreamFeaturesDeps {
  readonly connections: ConnectionView;
  readonly catalog: Catalog;
  /** Shared with tool calls. */
  readonly slots: CallSlots;
  readonly feed: ChangeFeed;
  readonly listingFeed: ListingFeed;
  readonly log: WarnLog;
  readonly running: RunningCalls;
  readonly times: CallTimes;
  /** Maximum age of a listing and interval of the checks, in milliseconds. */
  readonly freshMs?: number;
}

/** Combines the features of all visible upstreams as if they were one server. */
export function createUpstreamFeatures(deps: UpstreamFeaturesDeps): UpstreamFeatures {
  const listings = createUpstreamListings(deps);
  const views = createUpstreamViews({ ...deps, listings });
  const requester = createUpstreamRequester(deps);
  const followers = createChangeFollowers({
    ...deps,
    listings,
    views,
    ...(deps.freshMs === undefined ? {} : { checkEveryMs: deps.freshMs }),
  });

  async function resolveSubscribable(principal: Principal, uri: string): Promise<ReturnType<typeof resolveResource>> {
    const resolved = resolveResource(await views.of(principal, REQUEST_WAIT_MS), uri);
    const { connection, listing } = resolved.source;
    if (listing?.capabilities.subscribe === true) return resolved;
    throw invalid("uri", `The connection "${connection.name}" does not support subscriptions.`);
  }

  const skills = createUpstreamSkills({
    viewForList: async (principal) => views.of(principal, LIST_WAIT_MS),
    viewForRequest: async (principal) => views.of(principal, REQUEST_WAIT_MS),
    requester,
  });

  return {
    ...skills,

    capabilities(principal) {
      const view = views.of(principal, REQUEST_WAIT_MS);
      return view instanceof Promise ? view.then(({ capabilities }) => capabilities) : view.capabilities;
    },

    introduce: async (principal) => introduce(await views.of(principal, REQUEST_WAIT_MS)),

    knownServerInfo({ connectionId }) {
      return connectionId === undefined ? undefined : listings.known(connectionId)?.server.info;
    },

    withClientLinks(principal, { id }, json) {
      if (principal.connectionId !== undefined) return json;
      return renameLinks(json, LINKS.callResult, (uri) => linkUri(id, listings.known(id), uri));
    },

    async listResources(principal, cursor) {
      const view = await views.of(principal, LIST_WAIT_MS);
      return listPage("resources", view.resources, view, cursor);
    },

    async listResourceTemplates(principal, cursor) {
      const view = await views.of(principal, LIST_WAIT_MS);
      return listPage("resourceTemplates", view.resourceTemplates, view, cursor);
    },

    async listPrompts(principal, cursor) {
      const view = await views.of(principal, LIST_WAIT_MS);
      return listPage("prompts", view.prompts, view, cursor);
    },

    async readResource(principal, uri, options) {
      if (uri === "") throw invalid("uri", "uri is required: the URI of the resource to read.");
      const view = await views.of(principal, REQUEST_WAIT_MS);
      const { source, key } = resolveResource(view, uri);
      const name = (of: string): string => (of === key ? uri : clientUri(view, source, of));
      try {
        const { text, ttlMs = 0 } = await requester.ask(source, { method: "resources/read", uri: key }, options);
        return { text: renameLinks(text, LINKS.contents, name), ttlMs };
      } catch (thrown) {
        throw withClientUri(thrown, name);
      }
    },

    async getPrompt(principal, name, args, options) {
      if (name === "") throw invalid("name", "name is required: the name of the prompt.");
      const view = await views.of(principal, REQUEST_WAIT_MS);
      const { source, key } = resolvePrompt(view, name);
      const { text } = await requester.ask(source, { method: "prompts/get", name: key, args }, options);
      return { text: renameLinks(text, LINKS.prompt, (uri) => clientUri(view, source, uri)), ttlMs: undefined };
    },

    async complete(principal, params, options) {
      const view = await views.of(principal, REQUEST_WAIT_MS);
      const { resolved, ref } = readReference(view, params.ref);
      // The combined server declares completions even if only some upstreams support them.
      if (resolved.source.listing?.capabilities.completions === false) return NO_COMPLETION;
      const { _meta: _callers, ...asked } = params;
      const question = { method: "completion/complete", params: { ...asked, ref } } as const;
      const { text } = await requester.ask(resolved.source, question, options);
      return { text, ttlMs: undefined };
    },

    async checkSubscription(principal, uri) {
      await resolveSubscribable(principal, uri);
    },

    async subscribe(principal, uri, options) {
      const { source, key } = await resolveSubscribable(principal, uri);
      await requester.ask(source, { method: "resources/subscribe", uri: key }, options);
    },
    follow: followers.follow,
  };
}

const NO_COMPLETION: FeatureResult = { text: '{"completion":{"values":[]}}', ttlMs: undefined };

/** Finds the connection of a completion and replaces the reference by the one at the upstream. */
function readReference(view: UpstreamView, ref: JsonValue | undefined): { resolved: ResolvedName; ref: JsonObject } {
  if (isJsonObject(ref) && ref.type === "ref/prompt" && typeof ref.name === "string") {
    const resolved = resolvePrompt(view, ref.name);
    return { resolved, ref: { ...ref, name: resolved.key } };
  }
  if (isJsonObject(ref) && ref.type === "ref/resource" && typeof ref.uri === "string") {
    const resolved = resolveTemplate(view, ref.uri);
    return { resolved, ref: { ...ref, uri: resolved.key } };
  }
  throw invalid("ref", "ref must be a ref/prompt with a name or a ref/resource with a uri.");
}
