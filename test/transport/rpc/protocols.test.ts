import { Code, ConnectError, createClient, type Interceptor, type Transport } from "@connectrpc/connect";
import {
  compressionGzip,
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
  Http2SessionManager,
} from "@connectrpc/connect-node";
import { createConnectTransport as createWebTransport } from "@connectrpc/connect-web";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { Health, HealthCheckResponse_ServingStatus } from "../../../gen/proto/grpc/health/v1/health_pb.ts";
import { ServerReflection } from "../../../gen/proto/grpc/reflection/v1/reflection_pb.ts";
import { ConnectionService } from "../../../gen/proto/patchbay/v1/connection_service_pb.ts";
import { RuntimeService } from "../../../gen/proto/patchbay/v1/runtime_service_pb.ts";
import { startStandIn, type Running } from "../support/stand-in.ts";
import { until } from "../support/raw.ts";

type Faces = Readonly<Record<string, (url: string, token?: string) => Transport>>;

const withToken = (token: string): Interceptor[] => [
  (next) => async (request) => {
    if (token !== "") request.header.set("authorization", `Bearer ${token}`);
    return await next(request);
  },
];

const TOKEN = "mgmt.read,mgmt.write";
const sessions: Http2SessionManager[] = [];

function session(url: string): Http2SessionManager {
  const manager = new Http2SessionManager(url);
  sessions.push(manager);
  return manager;
}

const FACES: Faces = {
  "Connect JSON, HTTP/1.1": (baseUrl, token = TOKEN) =>
    createConnectTransport({ baseUrl, httpVersion: "1.1", useBinaryFormat: false, interceptors: withToken(token) }),
  "Connect JSON, HTTP/2": (baseUrl, token = TOKEN) =>
    createConnectTransport({
      baseUrl,
      httpVersion: "2",
      sessionManager: session(baseUrl),
      useBinaryFormat: false,
      interceptors: withToken(token),
    }),
  "Connect binary, HTTP/1.1": (baseUrl, token = TOKEN) =>
    createConnectTransport({ baseUrl, httpVersion: "1.1", useBinaryFormat: true, interceptors: withToken(token) }),
  "Connect with GET": (baseUrl, token = TOKEN) =>
    createConnectTransport({ baseUrl, httpVersion: "1.1", useHttpGet: true, interceptors: withToken(token) }),
  "Connect compressed": (baseUrl, token = TOKEN) =>
    createConnectTransport({
      baseUrl,
      httpVersion: "1.1",
      sendCompression: compressionGzip,
      compressMinBytes: 1,
      interceptors: withToken(token),
    }),
  "Connect in a browser": (baseUrl, token = TOKEN) => createWebTransport({ baseUrl, interceptors: withToken(token) }),
  gRPC: (baseUrl, token = TOKEN) =>
    createGrpcTransport({ baseUrl, sessionManager: session(baseUrl), interceptors: withToken(token) }),
  "gRPC compressed": (baseUrl, token = TOKEN) =>
    createGrpcTransport({
      baseUrl,
      sessionManager: session(baseUrl),
      sendCompression: compressionGzip,
      compressMinBytes: 1,
      interceptors: withToken(token),
    }),
  "gRPC-Web, HTTP/1.1": (baseUrl, token = TOKEN) =>
    createGrpcWebTransport({ baseUrl, httpVersion: "1.1", interceptors: withToken(token) }),
  "gRPC-Web, HTTP/2": (baseUrl, token = TOKEN) =>
    createGrpcWebTransport({
      baseUrl,
      httpVersion: "2",
      sessionManager: session(baseUrl),
      interceptors: withToken(token),
    }),
};

describe.each([true, false])("fast path %s", (fastPath) => {
  let server: Running;

  beforeAll(async () => {
    server = await startStandIn({ fastPath });
  });

  afterAll(async () => {
    await server.stop();
  });

  beforeEach(() => {
    server.seen.requests.length = 0;
    server.seen.signals.length = 0;
    server.logged.length = 0;
  });

  afterEach(() => {
    for (const manager of sessions.splice(0)) manager.abort();
  });

  describe.each(Object.entries(FACES))("%s", (_name, face) => {
    test("returns the response of a unary call", async () => {
      const client = createClient(ConnectionService, face(server.url));
      const { success, data } = await client.listConnections({ limit: 1 });
      expect(success).toBe(true);
      expect(data).toMatchObject([{ id: 7, mcpServerName: "Zoë", disabledTools: [], oauth2Scopes: ["mcp.read"] }]);
      const { data: nothing } = await client.deleteConnection({ serverId: "7" });
      expect(nothing).toBe(0);
    });

    test("transmits request and response headers", async () => {
      const client = createClient(ConnectionService, face(server.url));
      let location: string | null = null;
      await client.createConnection(
        { serverType: "mcp", configuration: { a: [1, { b: null }] } },
        { onHeader: (headers) => (location = headers.get("location")) },
      );
      expect(location).toBe("/api/v1/mcp-servers/7");
      expect(server.seen.requests).toMatchObject([{ serverType: "mcp", configuration: { a: [1, { b: null }] } }]);
      const { tools } = await createClient(RuntimeService, face(server.url)).listTools(
        {},
        { headers: { "x-session-id": "abc" } },
      );
      expect(tools).toMatchObject([{ name: "abc", inputSchema: { type: "object" } }]);
    });

    test("returns a response of 100,000 characters unchanged", async () => {
      const { content } = await createClient(RuntimeService, face(server.url)).callTool({ name: "large" });
      expect(content).toEqual([{ type: "text", text: "x".repeat(100_000) }]);
    });

    test.each([
      ["404", Code.NotFound, "MCP server 404 not found or not accessible"],
      ["409", Code.Aborted, "It changed meanwhile."],
      ["412", Code.FailedPrecondition, "It is out of date."],
      ["413", Code.ResourceExhausted, "It is too large."],
      ["429", Code.ResourceExhausted, "Slow down."],
      ["500", Code.Internal, "Failed to get MCP server details: internal error"],
      ["501", Code.Internal, "Failed to get MCP server details: the database did not answer"],
      ["503", Code.Unavailable, "Come back."],
    ])("error %s has its code and text", async (serverId, code, text) => {
      const error = await failure(createClient(ConnectionService, face(server.url)).getConnection({ serverId }));
      expect([error.code, error.rawMessage]).toEqual([code, text]);
      expect(error.metadata.get("retry-after")).toBe(serverId === "429" ? "3" : serverId === "503" ? "1" : null);
      expect(server.logged).toHaveLength(code === Code.Internal ? 1 : 0);
    });

    test.each([
      ["", Code.Unauthenticated, "Authentication credentials were not provided."],
      ["nobody", Code.Unauthenticated, "Invalid or expired token."],
      ["mgmt.write", Code.PermissionDenied, "You do not have permission to view connections."],
    ])("rejects a call with the token %j", async (token, code, text) => {
      const error = await failure(createClient(ConnectionService, face(server.url, token)).listConnections({}));
      expect([error.code, error.rawMessage]).toEqual([code, text]);
      expect(error.metadata.get("www-authenticate")).toMatch(/^Bearer realm=/);
      expect(server.seen.requests).toEqual([]);
    });

    test("a stream sends a snapshot and stays open, and the client can cancel it", async () => {
      const client = createClient(ConnectionService, face(server.url));
      const caller = new AbortController();
      const left = failure(
        (async () => {
          for await (const event of client.watchConnections({}, { signal: caller.signal })) {
            expect(event).toMatchObject({ event: "snapshot", connections: [{ id: 7 }] });
            caller.abort();
          }
        })(),
      );
      expect(await left).toMatchObject({ code: Code.Canceled });
      await until(() => server.seen.signals[0]?.aborted === true);
      expect(server.logged).toEqual([]);
    });

    test("a stream returns its error before the first message and after it", async () => {
      const client = createClient(ConnectionService, face(server.url));
      const read = async (serverId: string): Promise<number> => {
        let count = 0;
        for await (const event of client.watchConnections({ serverId })) count += event.connections.length;
        return count;
      };
      expect(await failure(read("404"))).toMatchObject({ code: Code.NotFound });
      expect(await failure(read("503"))).toMatchObject({
        code: Code.Unavailable,
        rawMessage: "The token has expired.",
      });
      expect(await read("1")).toBe(1);
      expect(
        await failure(
          createClient(ConnectionService, face(server.url, "")).watchConnections({})[Symbol.asyncIterator]().next(),
        ),
      ).toMatchObject({ code: Code.Unauthenticated });
    });

    test("the client's deadline aborts the signal of the handler", async () => {
      const client = createClient(ConnectionService, face(server.url));
      expect(await failure(client.getConnection({ serverId: "600" }, { timeoutMs: 100 }))).toMatchObject({
        code: Code.DeadlineExceeded,
      });
      await until(() => server.seen.signals[0]?.aborted === true);
      expect(server.logged).toEqual([]);
    });

    test("canceling the call aborts the signal of the handler", async () => {
      const client = createClient(ConnectionService, face(server.url));
      const caller = new AbortController();
      const call = failure(client.getConnection({ serverId: "600" }, { signal: caller.signal }));
      await until(() => server.seen.signals.length === 1);
      caller.abort();
      expect(await call).toMatchObject({ code: Code.Canceled });
      await until(() => server.seen.signals[0]?.aborted === true);
      expect(server.logged).toEqual([]);
    });

    test("rejects text and JSON that the database cannot store", async () => {
      const client = createClient(ConnectionService, face(server.url));
      const runtime = createClient(RuntimeService, face(server.url));
      const deep = JSON.parse(`{"a":${"[".repeat(99)}${"]".repeat(99)}}`);
      const calls = [
        [() => client.createConnection({ serverType: "m", name: "a\0b" }), "name must not contain NUL characters."],
        [
          () => client.createConnection({ serverType: "m", configuration: { a: "\0" } }),
          "configuration must not contain NUL characters.",
        ],
        [
          () => client.createConnection({ serverType: "m", configuration: JSON.parse('{"__proto__":1}') }),
          "configuration must not have a key named __proto__.",
        ],
        [
          () => client.createConnection({ serverType: "m", configuration: deep }),
          "configuration is nested deeper than 32 levels.",
        ],
        [
          () => runtime.callTool({ name: "t", arguments: { big: 2 ** 53 } }),
          "arguments must not contain integers beyond 2^53; send them as text, or over REST.",
        ],
      ] as const;
      for (const [call, text] of calls)
        expect(await failure(call())).toMatchObject({ code: Code.InvalidArgument, rawMessage: text });
      expect(server.seen.requests).toEqual([]);
    });

    test("rejects a message over its size limit, which is larger for runtime calls", async () => {
      const name = "x".repeat(1024 * 1024 + 1);
      expect(
        await failure(createClient(ConnectionService, face(server.url)).createConnection({ serverType: "m", name })),
      ).toMatchObject({ code: Code.ResourceExhausted });
      await createClient(RuntimeService, face(server.url)).callTool({ name });
    });
  });

  test("REST and Connect JSON return the same JSON text", async () => {
    const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };
    const rest = await fetch(`${server.url}/api/v1/mcp-servers?limit=1`, { headers });
    const connect = await fetch(`${server.url}/patchbay.v1.ConnectionService/ListConnections`, {
      method: "POST",
      body: '{"limit":1,"unknown":[]}',
      headers,
    });
    expect(await connect.json()).toEqual(await rest.json());
  });

  test.each([
    ["{", "application/json"],
    ['{"limit":"x"}', "application/json"],
    ['{"limit":1,"limit":2}', "application/json"],
    ["\xff\xff\xff", "application/json"],
  ])("returns 400 for the Connect body %j", async (body, type) => {
    const headers = { authorization: `Bearer ${TOKEN}`, "content-type": type };
    const response = await fetch(`${server.url}/patchbay.v1.ConnectionService/ListConnections`, {
      method: "POST",
      body: Buffer.from(body, "latin1"),
      headers,
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: "invalid_argument" });
  });

  test("returns 405 and 415 with a detail for other methods and content types on the path of an RPC", async () => {
    const path = `${server.url}/patchbay.v1.ConnectionService/CreateConnection`;
    const authorization = `Bearer ${TOKEN}`;
    const wrongMethod = await fetch(path, { method: "PUT", headers: { authorization } });
    expect([wrongMethod.status, wrongMethod.headers.get("allow"), await wrongMethod.text()]).toEqual([
      405,
      "POST",
      '{"detail":"Method not allowed.","code":"METHOD_NOT_ALLOWED"}',
    ]);
    const wrongType = await fetch(path, {
      method: "POST",
      body: "a=1",
      headers: { authorization, "content-type": "text/plain" },
    });
    expect(wrongType.status).toBe(415);
    expect(await wrongType.text()).toMatch(/^\{"detail":/);
    expect((await fetch(`${server.url}/patchbay.v1.ConnectionService/Nothing`, { method: "POST" })).status).toBe(404);
  });

  test("gRPC health and reflection need no token and list every service", async () => {
    const transport = createGrpcTransport({ baseUrl: server.url, sessionManager: session(server.url) });
    const health = createClient(Health, transport);
    const SERVING = HealthCheckResponse_ServingStatus.SERVING;
    expect(await health.check({})).toMatchObject({ status: SERVING });
    expect(await health.check({ service: "patchbay.v1.ConnectionService" })).toMatchObject({ status: SERVING });
    expect(await failure(health.check({ service: "nobody" }))).toMatchObject({ code: Code.NotFound });
    const watch = health.watch({})[Symbol.asyncIterator]();
    expect(await watch.next()).toMatchObject({ value: { status: SERVING } });
    const questions = [
      { case: "listServices", value: "" },
      { case: "fileContainingSymbol", value: "patchbay.v1.ConnectionService" },
      { case: "fileContainingSymbol", value: "nobody" },
      { case: "allExtensionNumbersOfType", value: "google.protobuf.MethodOptions" },
    ] as const;
    const answers = [];
    const asked = (async function* () {
      for (const messageRequest of questions) yield await Promise.resolve({ messageRequest });
    })();
    for await (const { messageResponse } of createClient(ServerReflection, transport).serverReflectionInfo(asked))
      answers.push(messageResponse);
    expect(answers.map((answer) => answer.case)).toEqual([
      "listServicesResponse",
      "fileDescriptorResponse",
      "errorResponse",
      "allExtensionNumbersResponse",
    ]);
    expect(answers[0]).toMatchObject({
      value: { service: expect.arrayContaining([expect.objectContaining({ name: "patchbay.v1.RuntimeService" })]) },
    });
    expect(answers[3]).toMatchObject({ value: { extensionNumber: expect.arrayContaining([50001, 50002, 72295728]) } });
  });
});

async function failure(call: Promise<unknown>): Promise<ConnectError> {
  const thrown: unknown = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (thrown === undefined) throw new Error("the call did not fail");
  return ConnectError.from(thrown);
}
