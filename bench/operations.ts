import { create, toBinary } from "@bufbuild/protobuf";
import { ListConnectionsRequestSchema } from "../gen/proto/patchbay/v1/connection_service_pb.ts";
import type { Arena } from "./arena.ts";
import { fetchGrpcAnswer } from "./grpc-answer.ts";
import type { Job, RequestTemplate } from "./load/job.ts";
import { type McpRequests, sessionRequests, statelessRequests } from "./mcp-requests.ts";
import type { BenchOptions } from "./options.ts";
import type { Subject } from "./processes.ts";

/** What is driven, and what it is compared with. */
export interface Contestant {
  readonly name: string;
  readonly subject: Subject;
  readonly job: Job;
}

/** Something the service does. */
export interface Operation extends Contestant {
  /** The name of the floor it is compared with. */
  readonly floor: string;
  /** The share of the floor's throughput that it should reach. */
  readonly goal: number | undefined;
}

const JSON_TYPE = { "content-type": "application/json" };
const LIST_PATH = "/patchbay.v1.ConnectionService/ListConnections";
const RUNTIME_CALL = "/mcp/tools/call";

/** The floors: the same rows with nothing around them, and the upstream called directly. */
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
  ];
}

/** Everything that is measured in a closed loop. */
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
    { ...http1("rest-list", service, [list], five, options), floor: "floor-list", goal: 0.8 },
    {
      ...http1("rest-read", service, [get(`/api/v1/mcp-servers/${last}`)], five, options),
      floor: "floor-read",
      goal: 0.8,
    },
    { ...http1("connect-list", service, [connect], five, options), floor: "floor-list", goal: 0.75 },
    { ...(await grpcList(arena, options)), floor: "floor-list", goal: 0.65 },
    {
      ...http1("rest-tools", service, [get(`/api/v1/mcp-servers/${last}/tools`)], '"tool_19"', options),
      floor: "floor-list",
      goal: undefined,
    },
    { ...http1("rest-update", service, updates, '"success":true', options), floor: "floor-read", goal: 0.45 },
    { ...http1("rest-call", service, [relayRequest(arena)], "Echo: hello", options), floor: "floor-call", goal: 0.25 },
    ...mcpOperations("mcp-session", sessionRequests(arena), service, options),
    ...mcpOperations("mcp-stateless", statelessRequests(arena), service, options),
  ];
}

/** MCP's own face against the bare JSON-RPC server that is also its upstream. */
function mcpOperations(era: string, requests: McpRequests, service: Subject, options: BenchOptions): Operation[] {
  const against = { floor: "floor-call", goal: undefined };
  return [
    { ...http1(`${era}-list`, service, [requests.list], "tool_19", options), ...against },
    { ...http1(`${era}-call`, service, [requests.call], "Echo: hello", options), ...against },
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

function http1(
  name: string,
  subject: Subject,
  requests: readonly RequestTemplate[],
  expected: string,
  { connections, seconds }: BenchOptions,
): Contestant {
  return { name, subject, job: { kind: "closed-http1", url: subject.url, requests, expected, connections, seconds } };
}

async function grpcList({ service, reader }: Arena, { connections, seconds }: BenchOptions): Promise<Contestant> {
  const message = Buffer.from(toBinary(ListConnectionsRequestSchema, create(ListConnectionsRequestSchema)));
  const headers = { authorization: `Bearer ${reader.token}` };
  const target = { url: service.url, path: LIST_PATH, headers };
  const answer = await fetchGrpcAnswer({ ...target, message });
  return {
    name: "grpc-list",
    subject: service,
    job: {
      kind: "closed-grpc",
      ...target,
      message: message.toString("base64"),
      expected: answer.toString("base64"),
      connections,
      seconds,
    },
  };
}
