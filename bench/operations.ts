import type { Arena } from "./arena.ts";
import { fetchGrpcList, LIST_PATH } from "./grpc-answer.ts";
import { type Contestant, http1, type Operation } from "./contestant.ts";
import type { RequestTemplate } from "./load/job.ts";
import { listMcpFloors, listMcpOperations } from "./mcp-operations.ts";
import type { BenchOptions } from "./options.ts";

const JSON_TYPE = { "content-type": "application/json" };
const RUNTIME_CALL = "/mcp/tools/call";

/** The floors: the same rows without the service, and direct calls to the upstream. */
export function listFloors(arena: Arena, options: BenchOptions): readonly Contestant[] {
  const { floor, upstream, reader } = arena;
  const get = (path: string): RequestTemplate => ({ method: "GET", path, headers: {} });
  const relayed = JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "echo", arguments: { message: "hello" } },
  });
  const direct: RequestTemplate = { method: "POST", path: "/mcp", headers: JSON_TYPE, body: relayed };
  const last = String(reader.connectionIds.at(-1));
  return [
    http1("floor-list", floor, [get(`/${reader.accountId}`)], '"Connection 5"', options),
    http1("floor-read", floor, [get(`/${reader.accountId}/${last}`)], '"Connection 5"', options),
    http1("floor-call", upstream, [direct], "Echo: hello", options),
    ...(arena.mcp === undefined ? [] : listMcpFloors(arena.mcp, upstream, options)),
  ];
}

export async function listOperations(arena: Arena, options: BenchOptions): Promise<readonly Operation[]> {
  const { service, reader, writer } = arena;
  const authorization = `Bearer ${reader.token}`;
  const last = String(reader.connectionIds.at(-1));
  const get = (path: string): RequestTemplate => ({ method: "GET", path, headers: { authorization } });
  const list = get("/api/v1/mcp-servers");
  const connect: RequestTemplate = {
    method: "POST",
    path: LIST_PATH,
    headers: { authorization, ...JSON_TYPE },
    body: "{}",
  };
  const updates = writer.connectionIds.map((id, index): RequestTemplate => ({
    method: "PUT",
    path: `/api/v1/mcp-servers/${id}`,
    headers: { authorization: `Bearer ${writer.token}`, ...JSON_TYPE },
    body: JSON.stringify({ agent_enabled: index % 2 === 0 }),
  }));
  const five = '"Connection 5"';
  return [
    { ...http1("rest-list", service, [list], five, options), against: [{ floor: "floor-list", goal: 0.8 }] },
    {
      ...http1("rest-read", service, [get(`/api/v1/mcp-servers/${last}`)], five, options),
      against: [{ floor: "floor-read", goal: 0.8 }],
    },
    { ...http1("connect-list", service, [connect], five, options), against: [{ floor: "floor-list", goal: 0.75 }] },
    { ...(await grpcList(arena, options)), against: [{ floor: "floor-list", goal: 0.65 }] },
    {
      ...http1("rest-tools", service, [get(`/api/v1/mcp-servers/${last}/tools`)], '"tool_19"', options),
      against: [{ floor: "floor-list" }],
    },
    {
      ...http1("rest-update", service, updates, '"success":true', options),
      against: [{ floor: "floor-read", goal: 0.45 }],
    },
    {
      ...http1("rest-call", service, [relayRequest(arena)], "Echo: hello", options),
      against: [{ floor: "floor-call", goal: 0.25 }],
    },
    ...(arena.mcp === undefined ? [] : listMcpOperations(arena.mcp, options)),
  ];
}

/** A tool call through the service. */
export function relayRequest({ reader, sessionId, toolName }: Arena): RequestTemplate {
  return {
    method: "POST",
    path: RUNTIME_CALL,
    headers: { authorization: `Bearer ${reader.token}`, "x-session-id": sessionId, ...JSON_TYPE },
    body: JSON.stringify({ name: toolName, arguments: { message: "hello" } }),
  };
}

async function grpcList({ service, reader }: Arena, { connections, seconds }: BenchOptions): Promise<Contestant> {
  const call = await fetchGrpcList(service, reader);
  return { name: "grpc-list", subject: service, job: { kind: "closed-grpc", ...call, connections, seconds } };
}
