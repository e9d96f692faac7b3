import { createMasterKeys } from "../test/support/service.ts";
import pg from "pg";
import { startBare, startLocalService, type Subject } from "./processes.ts";
import { createTenant, openSession, type Tenant, toUpstream } from "./tenant.ts";

/**
 * The MCP servers to measure: one process of the service, with an account each for a local and a relayed connection.
 */
export interface McpArena {
  readonly service: Subject;
  readonly local: McpTenant;
  readonly relay: McpTenant;
  /** Another account with a local connection, which stays quiet while the first floods. */
  readonly quiet: McpTenant;
  /** The SDK's server and a session with it. */
  readonly sdk: { readonly subject: Subject; readonly sessionId: string };
}

/** An account with one connection, so that its tools have bare names, and a session. */
export interface McpTenant extends Tenant {
  readonly sessionId: string;
}

/** Uses a separate database, because other replicas cannot verify the additional integration. */
export async function openMcpArena(databaseUrl: string, upstream: Subject, subjects: Subject[]): Promise<McpArena> {
  const sdk = await startBare("sdk-server", {});
  subjects.push(sdk);
  const env = {
    DATABASE_URL: await createDatabase(databaseUrl, "bench_mcp"),
    PATCHBAY_KEYS: createMasterKeys(),
    PUBLIC_URL: "http://127.0.0.1",
    OUTBOUND_ALLOW: new URL(upstream.url).host,
    LOG_LEVEL: "error",
  };
  const service = await startLocalService(env);
  subjects.push(service);
  const local = await createTenant(env, service, { server_type: "local", configuration: {} }, 1);
  const quiet = await createTenant(env, service, { server_type: "local", configuration: {} }, 1);
  const relay = await createTenant(env, service, toUpstream(upstream), 1);
  return {
    service,
    local: { ...local, sessionId: await openSession(service, local) },
    quiet: { ...quiet, sessionId: await openSession(service, quiet) },
    relay: { ...relay, sessionId: await openSession(service, relay) },
    sdk: { subject: sdk, sessionId: await openSdkSession(sdk) },
  };
}

async function createDatabase(adminUrl: string, name: string): Promise<string> {
  const client = new pg.Client({ connectionString: adminUrl });
  await client.connect();
  await client.query(`create database ${name}`);
  await client.end();
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  return url.href;
}

async function openSdkSession({ url }: Subject): Promise<string> {
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const params = { protocolVersion: "2025-03-26", capabilities: {}, clientInfo: { name: "bench", version: "1" } };
  const opening = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params });
  const opened = await fetch(`${url}/mcp`, { method: "POST", headers, body: opening });
  const sessionId = opened.headers.get("mcp-session-id");
  if (!opened.ok || sessionId === null) throw new Error(`the SDK's server: ${opened.status} ${await opened.text()}`);
  const body = JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" });
  await fetch(`${url}/mcp`, { method: "POST", headers: { ...headers, "mcp-session-id": sessionId }, body });
  return sessionId;
}
