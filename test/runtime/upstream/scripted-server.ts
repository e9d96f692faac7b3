import { onTestFinished } from "vitest";
import type { JsonObject } from "../../../src/json.ts";
import {
  INITIALIZED,
  json,
  startScriptedUpstream,
  type Script,
  type ScriptedUpstream,
} from "../../integrations/mcp/scripted-upstream.ts";

/** The items of a scripted server; a test may change them at any time. */
export interface Offering {
  capabilities: JsonObject;
  resources: string[];
  templates: string[];
  prompts: string[];
  /** The paths of skills; each lists as many files as its number after `#` says. */
  skills: string[];
}

export interface Server extends ScriptedUpstream {
  readonly offering: Offering;
}

/** Starts a server that returns the parameters of each request. */
export async function startServer(
  offering: Partial<Offering>,
  script: Partial<Record<string, Script>> = {},
): Promise<Server> {
  const offered: Offering = {
    capabilities: { resources: { subscribe: true }, prompts: {}, completions: {} },
    resources: [],
    templates: [],
    prompts: [],
    skills: [],
    ...offering,
  };
  const answer =
    (build: (params: JsonObject) => JsonObject): Script =>
    ({ message }, response) =>
      json(response, { jsonrpc: "2.0", id: message.id, result: build(message.params as JsonObject) });
  const server = await startScriptedUpstream({
    initialize: answer(() => ({ ...INITIALIZED, capabilities: offered.capabilities })),
    "resources/list": answer(() => ({ resources: offered.resources.map((uri) => ({ uri, name: uri })) })),
    "resources/templates/list": answer(() => ({
      resourceTemplates: offered.templates.map((uriTemplate) => ({ uriTemplate, name: uriTemplate })),
    })),
    "skills/list": answer(() => ({ skills: offered.skills.map(skillAt) })),
    "prompts/list": answer(() => ({ prompts: offered.prompts.map((name) => ({ name })) })),
    "resources/read": answer(({ uri }) => ({ contents: [{ uri: uri ?? "", text: "read" }] })),
    "prompts/get": answer(({ name }) => ({
      messages: [
        { role: "user", content: { type: "text", text: String(name) } },
        { role: "user", content: { type: "resource_link", uri: offered.resources[0] ?? "", name: "link" } },
      ],
    })),
    "completion/complete": answer(({ ref }) => ({ completion: { values: [JSON.stringify(ref)] } })),
    "resources/subscribe": answer(() => ({})),
    ...script,
  });
  onTestFinished(() => server.close());
  return { ...server, offering: offered };
}

/** The entry of `<path>#<number of files>`. */
function skillAt(path: string): JsonObject {
  const [own = "", count = "1"] = path.split("#");
  const names = Array.from({ length: Number(count) }, (_, index) => (index === 0 ? "SKILL.md" : `file-${index}`));
  const digest = `sha256:${"0".repeat(64)}`;
  return {
    uri: `skill://${own}/SKILL.md`,
    frontmatter: { name: own.split("/").at(-1) ?? "", description: own },
    resources: names.map((name) => ({ uri: `skill://${own}/${name}`, digest, size: 1 })),
  };
}
