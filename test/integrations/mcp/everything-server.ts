import { spawn, type ChildProcess } from "node:child_process";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { once } from "node:events";
import { endingWithUs } from "../../support/child-process.ts";

/** The reference MCP server in a separate process. */
export interface EverythingServer {
  readonly url: string;
  /** Restarts it on the same port, which loses its sessions. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** The paths of its transports. */
const PATHS = { streamableHttp: "/mcp", sse: "/sse" } as const;

/** Starts `@modelcontextprotocol/server-everything` with an empty environment, because one of its tools prints it. */
export async function startEverythingServer(
  transport: keyof typeof PATHS = "streamableHttp",
): Promise<EverythingServer> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}${PATHS[transport]}`;
  let child = await start(port, transport);
  return {
    url,
    restart: async () => {
      await stop(child);
      child = await start(port, transport);
    },
    stop: async () => stop(child),
  };
}

async function start(port: number, transport: keyof typeof PATHS): Promise<ChildProcess> {
  const entry = createRequire(import.meta.url).resolve("@modelcontextprotocol/server-everything/dist/index.js");
  const child = spawn(process.execPath, endingWithUs([entry, transport]), {
    env: { PORT: String(port) },
    stdio: ["ignore", "ignore", "pipe", "pipe"],
  });
  let said = "";
  await new Promise<void>((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`server-everything ended with ${code}: ${said}`)));
    child.stderr?.on("data", (chunk: Buffer) => {
      said += chunk.toString();
      if (said.includes(`on port ${port}`)) resolve();
    });
  });
  return child;
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const address = probe.address();
  probe.close();
  await once(probe, "close");
  if (typeof address !== "object" || address === null) throw new Error("no port");
  return address.port;
}
