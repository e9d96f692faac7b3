import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "../../src/json.ts";
import type { Balancer } from "./balancer.ts";
import { createProtocolClient, type ProtocolClient } from "./clients.ts";
import type { Upstream } from "./upstream.ts";

/** The pause of each caller between two calls, in milliseconds. */
const PAUSE_MS = 10;
/** Each caller of the management API creates a connection this often, so that it stays far below the limit of an account. */
const CALLS_PER_CREATE = 25;

/** REST, gRPC and MCP clients that call without retries, and a ledger of all writes that were acknowledged. */
export interface MixedLoad {
  /** Calls so far, by protocol. */
  calls(): Readonly<Record<string, number>>;
  /** One line for each call that failed. */
  readonly failures: readonly string[];
  /** Waits for the running calls. */
  stop(): Promise<void>;
  /** One line for each acknowledged write that is missing. */
  lostWrites(): Promise<readonly string[]>;
}

interface Ledger {
  /** The last acknowledged name of each connection. */
  readonly names: Map<string, string>;
  /** The acknowledged calls of the tool that writes. */
  readonly changes: string[];
}

/** `connectionId` is the connection whose tool the agent calls. */
export async function startMixedLoad(
  balancer: Balancer,
  upstream: Upstream,
  token: string,
  connectionId: string,
): Promise<MixedLoad> {
  const stopping = new AbortController();
  const failures: string[] = [];
  const counts: Record<string, number> = {};
  const ledger: Ledger = { names: new Map(), changes: [] };
  const received = new Set<string>();
  upstream.onCall = (_, args) => {
    received.add(String(args["text"]));
    return { content: [{ type: "text", text: String(args["text"]) }] };
  };
  const repeatedly = async (name: string, call: (round: number) => Promise<void>): Promise<void> => {
    for (let round = 0; !stopping.signal.aborted; round += 1) {
      counts[name] = (counts[name] ?? 0) + 1;
      await call(round).catch((error: unknown) => failures.push(`${name}: ${describe(error)}`));
      await sleep(PAUSE_MS);
    }
  };
  const rest = createProtocolClient("rest", balancer.url);
  const grpc = createProtocolClient("grpc", balancer.h2Url);
  const agent = await connectAgent(`${balancer.url}/mcp/${connectionId}`, token);
  const callers = [
    repeatedly("rest", manage(rest, token, upstream, ledger)),
    repeatedly("rest", manage(rest, token, upstream, ledger)),
    repeatedly("grpc", manage(grpc, token, upstream, ledger)),
    repeatedly("grpc", manage(grpc, token, upstream, ledger)),
    repeatedly("mcp", (round) => callTool(agent, `first ${round}`, ledger)),
    repeatedly("mcp", (round) => callTool(agent, `second ${round}`, ledger)),
  ];
  return {
    calls: () => ({ ...counts }),
    failures,
    async stop() {
      stopping.abort();
      await Promise.all(callers);
      await agent.close();
    },
    async lostWrites() {
      const lost = ledger.changes.filter((text) => !received.has(text)).map((text) => `call ${text}`);
      for (const [id, name] of ledger.names) {
        const { body } = await rest.call("GetConnection", { input: { server_id: id }, token });
        const found = (body as { data?: JsonObject } | null)?.data?.["mcp_server_name"];
        if (found !== name)
          lost.push(`connection ${id} is ${JSON.stringify(found)} instead of ${JSON.stringify(name)}`);
      }
      return lost;
    },
  };
}

/** Creates, renames, reads and lists connections. */
function manage(client: ProtocolClient, token: string, upstream: Upstream, { names }: Ledger) {
  let own = "";
  const call = async (operation: string, input: JsonObject): Promise<JsonObject> => {
    const outcome = await client.call(operation, { input, token });
    if (outcome.message !== "") throw new Error(`${operation}: ${outcome.status} ${outcome.message}`);
    return Object(outcome.body) as JsonObject;
  };
  return async (round: number): Promise<void> => {
    if (own === "" || round % CALLS_PER_CREATE === 0) {
      const name = `Created ${round}`;
      const input = { server_type: "mcp", name, configuration: { url: upstream.url } };
      own = String((await call("CreateConnection", input))["server_id"]);
      names.set(own, name);
    } else if (round % 3 === 0) {
      const name = `Renamed ${round}`;
      await call("UpdateConnection", { server_id: own, name });
      names.set(own, name);
    } else if (round % 3 === 1) await call("GetConnection", { server_id: own });
    else await call("ListConnections", { limit: 5 });
  };
}

async function connectAgent(url: string, token: string): Promise<Client> {
  const client = new Client({ name: "load", version: "1" });
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  return client;
}

async function callTool(agent: Client, text: string, { changes }: Ledger): Promise<void> {
  const result = await agent.callTool({ name: "change", arguments: { text } });
  if (result.isError === true) throw new Error(JSON.stringify(result.content));
  changes.push(text);
}

function describe(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? ` (${error.cause.message})` : "";
  return `${error instanceof Error ? error.message : String(error)}${cause}`;
}
