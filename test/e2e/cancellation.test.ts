import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { connect as connectH2 } from "node:http2";
import type { AddressInfo } from "node:net";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { toBinary, create } from "@bufbuild/protobuf";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { CallToolRequestSchema, RuntimeService } from "../../gen/proto/patchbay/v1/runtime_service_pb.ts";
import type { JsonObject } from "../../src/json.ts";
import { openAccounts, type TestAccounts } from "../support/accounts.ts";
import { createProtocolClient } from "../support/clients.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { type Service, startService } from "../support/service.ts";
import { until } from "../support/until.ts";

/**
 * An upstream that never answers a call, over plain HTTP or as an MCP server, and detects when the request is aborted.
 */
interface SlowUpstream {
  readonly host: string;
  readonly server: Server;
  /** Calls received, and calls aborted before a response. */
  readonly seen: { asked: number; aborted: number };
}

const CALL_PATH = "/patchbay.v1.RuntimeService/CallTool";

async function startSlowUpstream(): Promise<SlowUpstream> {
  const seen = { asked: 0, aborted: 0 };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const text = Buffer.concat(chunks).toString();
      const { id, method } = (text === "" ? {} : JSON.parse(text)) as { id?: number; method?: string };
      if (request.url === "/slow" || method === "tools/call") {
        seen.asked += 1;
        response.on("close", () => {
          if (!response.writableFinished) seen.aborted += 1;
        });
        return;
      }
      const result = RESULTS[method ?? ""];
      response.writeHead(result === undefined ? 202 : 200, { "content-type": "application/json" });
      response.end(result === undefined ? undefined : JSON.stringify({ jsonrpc: "2.0", id, result }));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, server, seen };
}

const RESULTS: Readonly<Record<string, JsonObject>> = {
  initialize: {
    protocolVersion: "2025-06-18",
    capabilities: { tools: {} },
    serverInfo: { name: "slow", version: "1" },
  },
  "tools/list": { tools: [{ name: "wait", description: "Waits.", inputSchema: { type: "object" } }] },
};

let database: TestDatabase;
let upstream: SlowUpstream;
let service: Service;
let accounts: TestAccounts;

beforeAll(async () => {
  [database, upstream] = await Promise.all([createTestDatabase(), startSlowUpstream()]);
  service = await startService({ databaseUrl: database.url, env: { OUTBOUND_ALLOW: upstream.host } });
  accounts = await openAccounts(service.env);
});

afterAll(async () => {
  await service?.stop();
  await accounts?.close();
  upstream?.server.closeAllConnections();
  upstream?.server.close();
  await database?.close();
});

describe.each(["openapi", "mcp"])("a call to an upstream of type %s", (serverType) => {
  let headers: Record<string, string>;
  let name: string;

  beforeAll(async () => {
    const token = await (await accounts.create()).token();
    const rest = createProtocolClient("rest", service.url);
    const spec = {
      openapi: "3.1.0",
      info: { title: "Slow", version: "1" },
      paths: { "/slow": { get: { operationId: "wait", responses: { "200": { description: "Never." } } } } },
    };
    const url = `http://${upstream.host}`;
    const configuration = serverType === "mcp" ? { url: `${url}/mcp` } : { spec, base_url: url };
    const created = await rest.call("CreateConnection", { token, input: { server_type: serverType, configuration } });
    expect(created.message).toBe("");
    const opened = await rest.call("Initialize", { token, input: { protocolVersion: "2025-03-26" } });
    headers = { authorization: `Bearer ${token}`, "x-session-id": Object(opened.body).sessionId };
    const listed = await until(async () => {
      const { body } = await rest.call("ListTools", { token, headers });
      const [tool] = Object(body).tools;
      return tool !== undefined && tool;
    });
    name = listed.name;
  });

  beforeEach(() => {
    upstream.seen.asked = 0;
    upstream.seen.aborted = 0;
  });

  const asked = () => until(() => Promise.resolve(upstream.seen.asked === 1), { what: "the upstream is asked" });
  const aborted = () =>
    until(() => Promise.resolve(upstream.seen.aborted === 1), { what: "the upstream sees its request broken off" });

  // Runs first: the first call reads the document and may exceed the deadlines of the other tests.
  test("is aborted upstream when a gRPC caller cancels", async () => {
    const client = createClient(RuntimeService, createGrpcTransport({ baseUrl: service.url }));
    const controller = new AbortController();
    const call = client.callTool({ name }, { headers, signal: controller.signal }).catch(ConnectError.from);
    await asked();
    controller.abort();
    await aborted();
    expect(await call).toMatchObject({ code: Code.Canceled });
  });

  test("is aborted upstream when a gRPC caller's deadline passes, and the caller receives deadline_exceeded", async () => {
    // Uses raw HTTP/2, because a client's own timer would reset the stream before the server's deadline.
    const session = connectH2(service.url);
    const stream = session.request({
      ...headers,
      ":method": "POST",
      ":path": CALL_PATH,
      "content-type": "application/grpc",
      te: "trailers",
      "grpc-timeout": "1500m",
    });
    const message = toBinary(CallToolRequestSchema, create(CallToolRequestSchema, { name }));
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(message.byteLength, 1);
    stream.end(Buffer.concat([prefix, message]));
    const answered = once(stream, "response");
    await asked();
    await aborted();
    const [head] = await answered;
    expect(head["grpc-status"]).toBe(String(Code.DeadlineExceeded));
    session.close();
  });

  test("is aborted upstream when a gRPC client's own deadline passes", async () => {
    const client = createClient(RuntimeService, createGrpcTransport({ baseUrl: service.url }));
    const call = client.callTool({ name }, { headers, timeoutMs: 1_500 }).catch(ConnectError.from);
    await asked();
    await aborted();
    expect(await call).toMatchObject({ code: Code.DeadlineExceeded });
  });

  test("is aborted upstream when a Connect caller's deadline passes", async () => {
    const call = fetch(service.url + CALL_PATH, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json", "connect-timeout-ms": "1500" },
      body: JSON.stringify({ name }),
    });
    await asked();
    await aborted();
    expect(await (await call).json()).toMatchObject({ code: "deadline_exceeded" });
  });

  test.each(["/mcp/tools/call", CALL_PATH])("is aborted upstream when a caller of %s disconnects", async (path) => {
    const controller = new AbortController();
    const call = fetch(service.url + path, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify({ name }),
      signal: controller.signal,
    }).catch((error: unknown) => error);
    await asked();
    controller.abort();
    await aborted();
    expect(await call).toBeInstanceOf(Error);
  });
});
