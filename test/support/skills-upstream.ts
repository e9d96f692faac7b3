import { once } from "node:events";
import { createServer } from "node:http";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, legacyStatelessFallback, McpServer } from "@modelcontextprotocol/server";
import { memorySkillFiles, type Skill, SkillsExtension } from "@modelcontextprotocol/server/ext/skills";

/** An MCP server built with the SDK that has skills and nothing else. */
export interface SkillsUpstream {
  /** `host:port`. */
  readonly host: string;
  readonly url: string;
  /** The published entries. */
  readonly entries: readonly Skill[];
  close(): Promise<void>;
}

export interface SkillsUpstreamOptions {
  readonly revision: "legacy" | "modern";
  /** The files of all skills by their paths. */
  readonly files: Readonly<Record<string, string>>;
  readonly readsDirectories: boolean;
}

export async function startSkillsUpstream(options: SkillsUpstreamOptions): Promise<SkillsUpstream> {
  const { revision, files, readsDirectories } = options;
  const catalog = await SkillsExtension.load(memorySkillFiles({ ...files }), { strict: true, pageSize: 1 });
  const { entries } = catalog;
  const withoutDirectories = new SkillsExtension({
    source: {
      list: () => Promise.resolve({ skills: [...entries] }),
      get: (uri) => Promise.resolve(entries.find((entry) => entry.uri === uri)),
      read: (uri) => {
        const text = files[uri.slice("skill://".length)];
        return Promise.resolve(text === undefined ? undefined : { text });
      },
    },
  });
  const createMcpServer = (): McpServer => {
    const server = new McpServer({ name: "skills", version: "1" });
    (readsDirectories ? catalog : withoutDirectories).attach(server);
    return server;
  };
  const fetchLegacy = legacyStatelessFallback(createMcpServer);
  const handler = createMcpHandler(createMcpServer, { legacy: "reject" });
  const answer = toNodeHandler(revision === "modern" ? handler : { fetch: fetchLegacy });
  type NodeRequest = Parameters<typeof answer>[0];
  // The SDK's class does not match Node's interface under exactOptionalPropertyTypes.
  const http = createServer((request, response) => void answer(request as NodeRequest, response)).listen(
    0,
    "127.0.0.1",
  );
  await once(http, "listening");
  const address = http.address();
  if (typeof address !== "object" || address === null) throw new Error("the upstream has no port");
  const host = `127.0.0.1:${address.port}`;
  return {
    host,
    url: `http://${host}/mcp`,
    entries,
    close: async () => {
      await handler.close();
      http.close();
      http.closeAllConnections();
    },
  };
}
