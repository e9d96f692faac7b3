import { readsDirectories, skillSettings } from "../../integrations/skills.ts";
import type { UpstreamCapabilities, UpstreamFeatures } from "../../runtime/upstream/upstream-features.ts";
import { methodNotFound, optionalTextParam, requiredText, type RpcMethod, withResourceUri } from "./methods.ts";
import { CODES } from "./rpc-fault.ts";

/** The methods of the skills extension (SEP-2640), if a visible upstream has them. */
export function createSkillMethods(features: UpstreamFeatures): ReadonlyMap<string, RpcMethod> {
  const method = (
    name: string,
    isSupported: (capabilities: UpstreamCapabilities) => boolean,
    answer: RpcMethod,
  ): readonly [string, RpcMethod] => [
    name,
    async (call) => {
      if (!isSupported(await features.capabilities(call.principal))) throw methodNotFound(name);
      return answer(call);
    },
  ];
  const hasSkills = (capabilities: UpstreamCapabilities): boolean => skillSettings(capabilities) !== undefined;

  return new Map([
    method("skills/list", hasSkills, async ({ principal, params }) =>
      features.listSkills(principal, optionalTextParam(params, "cursor")),
    ),
    method("skills/get", hasSkills, async ({ principal, params, controller: { signal }, relay, onSent }) => {
      const uri = requiredText(params, "uri");
      return named(uri, features.getSkill(principal, uri, { ...relay, signal, onSent }));
    }),
    method(
      "resources/directory/read",
      readsDirectories,
      async ({ principal, params, controller: { signal }, relay, onSent }) => {
        const uri = requiredText(params, "uri");
        const cursor = optionalTextParam(params, "cursor");
        return named(uri, features.readDirectory(principal, uri, cursor, { ...relay, signal, onSent }));
      },
    ),
  ]);
}

/** Adds the URI to the error for one that is unknown. Unlike resources, skills have one code in all revisions. */
async function named<Result>(uri: string, result: Promise<Result>): Promise<Result> {
  try {
    return await result;
  } catch (thrown) {
    throw withResourceUri(thrown, uri, CODES.invalidParams);
  }
}
