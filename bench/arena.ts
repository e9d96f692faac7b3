import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { startEmbeddedPostgres } from "../src/storage/embedded-postgres.ts";
import { createMasterKeys } from "../test/support/service.ts";
import { type McpArena, openMcpArena } from "./mcp-arena.ts";
import { startBare, startPatchbay, type Subject } from "./processes.ts";
import { createTenant, openSession, type Tenant, toUpstream } from "./tenant.ts";

/** The service and its comparisons on one database. */
export interface Arena {
  readonly env: Readonly<Record<string, string>>;
  readonly service: Subject;
  readonly floor: Subject;
  readonly upstream: Subject;
  /** An account with five connections to the upstream. */
  readonly reader: Tenant;
  /** An account with many connections, so that each load connection updates a separate row. */
  readonly writer: Tenant;
  /** An MCP session of the reader. */
  readonly sessionId: string;
  /** A tool of the reader's first connection, by its qualified name. */
  readonly toolName: string;
  /** The MCP servers to measure, if requested. */
  readonly mcp: McpArena | undefined;
  close(): Promise<void>;
}

export async function openArena(writerConnections: number, withMcp: boolean): Promise<Arena> {
  const dataDir = await mkdtemp(join(tmpdir(), "patchbay-bench-"));
  const postgres = await startEmbeddedPostgres({ dataDir, log: pino({ level: "warn" }) });
  const subjects: Subject[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(subjects.map((each) => each.stop()));
    await postgres.stop();
    await rm(dataDir, { recursive: true, force: true });
  };
  try {
    const filled = await fillArena(postgres.url, subjects, writerConnections);
    const mcp = withMcp ? await openMcpArena(postgres.url, filled.upstream, subjects) : undefined;
    return { ...filled, mcp, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function fillArena(
  databaseUrl: string,
  subjects: Subject[],
  writerConnections: number,
): Promise<Omit<Arena, "close" | "mcp">> {
  const started = (subject: Subject): Subject => {
    subjects.push(subject);
    return subject;
  };
  const upstream = started(await startBare("upstream", {}));
  const env = {
    DATABASE_URL: databaseUrl,
    PATCHBAY_KEYS: createMasterKeys(),
    PUBLIC_URL: "http://127.0.0.1",
    OUTBOUND_ALLOW: new URL(upstream.url).host,
    LOG_LEVEL: "error",
    // A single address requests thousands of tokens.
    RATE_LIMITS: "token=0",
  };
  const service = started(await startPatchbay(env));
  const floor = started(await startBare("floor", { DATABASE_URL: databaseUrl }));
  const reader = await createTenant(env, service, toUpstream(upstream), 5);
  const writer = await createTenant(env, service, toUpstream(upstream), writerConnections);
  const sessionId = await openSession(service, reader);
  const toolName = `echo__${String(reader.connectionIds[0])}`;
  return { env, service, floor, upstream, reader, writer, sessionId, toolName };
}
