import { mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { createFormBrowser } from "./form-browser.ts";
import { type Decider, grantAccess } from "./grant-access.ts";

/** A local MCP client behind the `mcp-remote` program, which connects to the service for it. */
export interface McpRemote {
  readonly client: Client;
  /** The output of the program. */
  output(): string;
  close(): Promise<void>;
}

/** The script that the npm package runs as `mcp-remote`. */
const SCRIPT = join(dirname(createRequire(import.meta.url).resolve("mcp-remote/package.json")), "dist", "proxy.js");

const LOGIN_ADDRESS = /visiting:\s+(http\S+)/;

/**
 * Starts the program with a new folder for its tokens. Without a token in `args` it registers itself, and `decider`
 * logs in for its user.
 */
export async function startMcpRemote(url: URL, args: readonly string[], decider?: Decider): Promise<McpRemote> {
  const folder = await mkdtemp(join(tmpdir(), "patchbay-mcp-remote-"));
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [SCRIPT, url.href, ...args],
    // PATH is empty, so that it finds no browser to open.
    env: { MCP_REMOTE_CONFIG_DIR: folder, HOME: folder, PATH: "" },
    stderr: "pipe",
  });
  let output = "";
  let loggedIn: Promise<unknown> | undefined;
  transport.stderr?.on("data", (chunk: Buffer) => {
    output += chunk.toString();
    const address = LOGIN_ADDRESS.exec(output)?.[1];
    if (decider !== undefined && address !== undefined)
      loggedIn ??= grantAccess(createFormBrowser(url.origin), new URL(address), decider).then((back) => fetch(back));
  });
  const client = new Client({ name: "a local client", version: "1" });
  await client.connect(transport);
  await loggedIn;
  return {
    client,
    output: () => output,
    close: async () => {
      await client.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
