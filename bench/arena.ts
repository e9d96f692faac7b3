import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { startEmbeddedPostgres } from "../src/storage/embedded-postgres.ts";
import { openAccounts } from "../test/support/accounts.ts";
import { createMasterKeys } from "../test/support/service.ts";
import { startBare, startPatchbay, type Subject } from "./processes.ts";
import { createCaller } from "./rest-caller.ts";

/** The service and what it is compared with, on one database, ready to be driven. */
export interface Arena {
  readonly service: Subject;
  readonly floor: Subject;
  readonly upstream: Subject;
  /** An account of five connections, each to the upstream. */
  readonly reader: Tenant;
  /** An account of many connections, so that each of the load's connections changes a row of its own. */
  readonly writer: Tenant;
  /** An MCP session of the reader. */
  readonly sessionId: string;
  /** A tool of the reader's first connection, by its qualified name. */
  readonly toolName: string;
  close(): Promise<void>;
}

/** An account with its token and its connections. */
export interface Tenant {
  readonly accountId: string;
  readonly token: string;
  readonly connectionIds: readonly number[];
}

/** Starts everything and fills it. */
export async function openArena(writerConnections: number): Promise<Arena> {
  const dataDir = await mkdtemp(join(tmpdir(), "patchbay-bench-"));
  const postgres = await startEmbeddedPostgres({ dataDir, log: pino({ level: "warn" }) });
  const subjects: Subject[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(subjects.map((each) => each.stop()));
    await postgres.stop();
    await rm(dataDir, { recursive: true, force: true });
  };
  try {
    return { ...(await fillArena(postgres.url, subjects, writerConnections)), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function fillArena(
  databaseUrl: string,
  subjects: Subject[],
  writerConnections: number,
): Promise<Omit<Arena, "close">> {
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
  };
  const service = started(await startPatchbay(env));
  const floor = started(await startBare("floor", { DATABASE_URL: databaseUrl }));
  const reader = await fill(env, service, upstream, 5);
  const writer = await fill(env, service, upstream, writerConnections);
  const { sessionId, toolName } = await openSession(service, reader);
  return { service, floor, upstream, reader, writer, sessionId, toolName };
}

async function fill(
  env: Readonly<Record<string, string>>,
  service: Subject,
  upstream: Subject,
  count: number,
): Promise<Tenant> {
  const accounts = await openAccounts(env);
  const account = await accounts.create();
  const token = await account.token();
  await accounts.close();
  const call = createCaller(service.url, token);
  const connectionIds: number[] = [];
  for (let index = 1; index <= count; index += 1) {
    const created = await call("POST", "/api/v1/mcp-servers", {
      server_type: "mcp",
      name: `Connection ${index}`,
      configuration: { url: `${upstream.url}/mcp`, api_token: "a-token-of-the-upstream" },
    });
    connectionIds.push(Number(created["server_id"]));
  }
  while (JSON.stringify(await call("GET", "/api/v1/mcp-servers")).includes('"pending"')) {
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return { accountId: account.id, token, connectionIds };
}

async function openSession(
  service: Subject,
  { token, connectionIds }: Tenant,
): Promise<{ sessionId: string; toolName: string }> {
  const call = createCaller(service.url, token);
  const introduction = { protocolVersion: "2025-03-26", capabilities: {}, clientInfo: { name: "bench", version: "1" } };
  const sessionId = String((await call("POST", "/mcp/initialize", introduction))["sessionId"]);
  return { sessionId, toolName: `echo__${String(connectionIds[0])}` };
}
