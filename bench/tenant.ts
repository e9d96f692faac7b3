import type { JsonObject } from "../src/json.ts";
import { openAccounts } from "../test/support/accounts.ts";
import type { Subject } from "./processes.ts";
import { createCaller } from "./rest-caller.ts";

export interface Tenant {
  readonly accountId: string;
  readonly token: string;
  readonly connectionIds: readonly number[];
}

/** The upstream of all connections of a tenant. */
export interface ConnectionTarget {
  readonly server_type: string;
  readonly configuration: JsonObject;
}

/** Creates an account with this many connections, and waits until their keys are verified. */
export async function createTenant(
  env: Readonly<Record<string, string>>,
  service: Subject,
  target: ConnectionTarget,
  count: number,
): Promise<Tenant> {
  const accounts = await openAccounts(env);
  const account = await accounts.create();
  const token = await account.token();
  await accounts.close();
  const call = createCaller(service.url, token);
  const connectionIds: number[] = [];
  for (let index = 1; index <= count; index += 1) {
    const created = await call("POST", "/api/v1/mcp-servers", { ...target, name: `Connection ${index}` });
    connectionIds.push(Number(created["server_id"]));
  }
  while (JSON.stringify(await call("GET", "/api/v1/mcp-servers")).includes('"pending"')) {
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return { accountId: account.id, token, connectionIds };
}

/** A connection to the benchmark's own MCP server. */
export function toUpstream(upstream: Subject): ConnectionTarget {
  return { server_type: "mcp", configuration: { url: `${upstream.url}/mcp`, api_token: "a-token-of-the-upstream" } };
}

export async function openSession(service: Subject, { token }: Tenant): Promise<string> {
  const introduction = { protocolVersion: "2025-03-26", capabilities: {}, clientInfo: { name: "bench", version: "1" } };
  return String((await createCaller(service.url, token)("POST", "/mcp/initialize", introduction))["sessionId"]);
}
