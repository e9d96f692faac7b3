import type { Principal } from "../../identity/principal.ts";
import { invalid } from "../../domain-error.ts";
import type { SkillRequest } from "../../integrations/features.ts";
import { readsDirectories } from "../../integrations/skills.ts";
import { LINKS, renameLinks } from "./link-edits.ts";
import { resolveResource, resolveSkill, type ResolvedName } from "./resolve-upstream.ts";
import type { FeatureResult, RelayOptions, UpstreamFeatures } from "./upstream-features.ts";
import { listPage } from "./upstream-page.ts";
import { type UpstreamRequester, withClientUri } from "./upstream-requests.ts";
import { qualifyUri } from "./upstream-uri.ts";
import type { UpstreamView } from "./upstream-view.ts";

export interface UpstreamSkillsDeps {
  readonly viewForList: (principal: Principal) => Promise<UpstreamView>;
  readonly viewForRequest: (principal: Principal) => Promise<UpstreamView>;
  readonly requester: UpstreamRequester;
}

/**
 * The skills of the visible upstreams (SEP-2640). Only URIs are renamed: a host compares the frontmatter, digests and
 * sizes of an entry with the files.
 */
export function createUpstreamSkills(
  deps: UpstreamSkillsDeps,
): Pick<UpstreamFeatures, "listSkills" | "getSkill" | "readDirectory"> {
  async function ask(
    { source, key }: ResolvedName,
    uri: string,
    request: SkillRequest,
    options: RelayOptions,
  ): Promise<FeatureResult> {
    // All URIs have the form of the requested one, because a host expects the files of a skill below its directory.
    const name = (of: string): string => (key === uri ? of : qualifyUri(of, source.connection.id));
    const links = request.method === "skills/get" ? LINKS.skillResult : LINKS.directory;
    try {
      const { text, ttlMs = 0 } = await deps.requester.ask(source, request, options);
      return { text: renameLinks(text, links, name), ttlMs };
    } catch (thrown) {
      throw withClientUri(thrown, name);
    }
  }

  return {
    async listSkills(principal, cursor) {
      const view = await deps.viewForList(principal);
      return listPage("skills", view.skills, view, cursor);
    },

    async getSkill(principal, uri, options) {
      if (uri === "") throw invalid("uri", "uri is required: the URI of the SKILL.md of a skill.");
      const resolved = resolveSkill(await deps.viewForRequest(principal), uri);
      return ask(resolved, uri, { method: "skills/get", uri: resolved.key }, options);
    },

    async readDirectory(principal, uri, cursor, options) {
      if (uri === "") throw invalid("uri", "uri is required: the URI of the directory to read.");
      const resolved = resolveResource(await deps.viewForRequest(principal), uri);
      const { connection, listing } = resolved.source;
      if (listing !== undefined && !readsDirectories(listing.capabilities))
        throw invalid("uri", `The connection "${connection.name}" does not support reading directories.`);
      return ask(resolved, uri, { method: "resources/directory/read", uri: resolved.key, cursor }, options);
    },
  };
}
