import { mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { JsonObject } from "../../src/json.ts";
import { startChild } from "../support/child-process.ts";
import { type Host, textOf, versionOf } from "./host.ts";
import { openSdkV1 } from "./sdk-hosts.ts";

const resolve = createRequire(import.meta.url).resolve;
const REMOTE = join(dirname(resolve("mcp-remote/package.json")), "dist", "proxy.js");
const INSPECTOR = join(
  dirname(resolve("@modelcontextprotocol/inspector/package.json")),
  "clients/launcher/build/index.js",
);

/** A local client, here of the SDK v1, that `mcp-remote` connects. */
export const MCP_REMOTE: Host = {
  name: "mcp-remote",
  version: versionOf("mcp-remote"),
  lacks: {},
  open: async (url, token) => {
    const folder = await mkdtemp(join(tmpdir(), "patchbay-mcp-remote-"));
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [REMOTE, url.href, "--header", `Authorization: Bearer ${token}`],
      env: { MCP_REMOTE_CONFIG_DIR: folder, HOME: folder, PATH: "" },
      stderr: "ignore",
    });
    const host = await openSdkV1(transport as Transport);
    return {
      ...host,
      close: async () => {
        await host.close();
        await rm(folder, { recursive: true, force: true });
      },
    };
  },
};

/** The Inspector's command line, which starts for each request. */
export const INSPECTOR_CLI: Host = {
  name: "Inspector",
  version: versionOf("@modelcontextprotocol/inspector"),
  lacks: {
    progress: { word: "silent", evidence: "Its command line sets `progress: false` and prints the result alone." },
    input: { word: "absent", evidence: "Its command line sets `elicit: false`, because nobody can answer it." },
  },
  open: async (url, token) => {
    const inspect = async (args: readonly string[], signal?: AbortSignal): Promise<JsonObject> => {
      const child = await startChild({
        command: process.execPath,
        args: [
          ...[INSPECTOR, "--cli", url.href, "--transport", "http", "--protocol-era", "auto"],
          ...["--header", `Authorization: Bearer ${token}`, ...args],
        ],
        env: { HOME: "/nonexistent" },
      });
      signal?.addEventListener("abort", () => void child.end("SIGTERM"), { once: true });
      const code = await child.exited;
      if (code !== 0) throw new Error(`The Inspector exited with ${code}:\n${child.output()}`);
      return JSON.parse(child.stdout()) as JsonObject;
    };
    return {
      tools: async () =>
        ((await inspect(["--method", "tools/list"]))["tools"] as { name: string }[]).map(({ name }) => name),
      call: async (tool, args, { signal } = {}) => {
        const pairs = Object.entries(args).flatMap(([name, value]) => ["--tool-arg", `${name}=${String(value)}`]);
        return textOf(await inspect(["--method", "tools/call", "--tool-name", tool, ...pairs], signal));
      },
      close: () => Promise.resolve(),
    };
  },
};
