import { Code, ConnectError, createClient, type Interceptor, type Transport } from "@connectrpc/connect";
import {
  compressionGzip,
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "../../../gen/proto/google/rpc/error_details_pb.ts";
import { ConnectionService } from "../../../gen/proto/patchbay/v1/connection_service_pb.ts";
import { ErrorReason } from "../../../gen/proto/patchbay/v1/error_reason_pb.ts";
import { ERROR_REASONS } from "../../../src/error-reason.ts";
import { readDocument } from "../../contract/document.ts";
import { startStandIn, type Running } from "../support/stand-in.ts";

test("proto, OpenAPI and the code define the same list of error reasons", async () => {
  const { components } = await readDocument();
  const inProto = Object.keys(ErrorReason).filter((name) => name !== "UNSPECIFIED");
  expect(inProto).toEqual([...ERROR_REASONS]);
  expect(components.schemas["ErrorReason"]?.enum).toEqual([...ERROR_REASONS]);
});

const withHeaders =
  (headers: Readonly<Record<string, string>>): Interceptor =>
  (next) =>
  async (request) => {
    for (const [name, value] of Object.entries(headers)) request.header.set(name, value);
    return await next(request);
  };

const small = { sendCompression: compressionGzip, acceptCompression: [compressionGzip], compressMinBytes: 1 };

const FACES: Readonly<Record<string, (baseUrl: string, interceptors: Interceptor[]) => Transport>> = {
  "Connect JSON": (baseUrl, interceptors) =>
    createConnectTransport({ baseUrl, httpVersion: "1.1", useBinaryFormat: false, interceptors }),
  "Connect binary, gzip": (baseUrl, interceptors) =>
    createConnectTransport({ baseUrl, httpVersion: "1.1", useBinaryFormat: true, interceptors, ...small }),
  gRPC: (baseUrl, interceptors) => createGrpcTransport({ baseUrl, interceptors }),
  "gRPC, gzip": (baseUrl, interceptors) => createGrpcTransport({ baseUrl, interceptors, ...small }),
  "gRPC-Web": (baseUrl, interceptors) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1", interceptors }),
};

/** The machine-readable content of an error. */
interface Said {
  readonly code: Code;
  readonly info: readonly [reason: string, domain: string, metadata: object] | undefined;
  readonly violations: readonly (readonly [field: string, description: string])[];
  readonly retrySeconds: number | undefined;
}

async function failureOf(call: Promise<unknown>): Promise<Said> {
  const error = await call.then(
    () => {
      throw new Error("it succeeded");
    },
    (thrown: unknown) => ConnectError.from(thrown),
  );
  const [info] = error.findDetails(ErrorInfoSchema);
  const [retry] = error.findDetails(RetryInfoSchema);
  return {
    code: error.code,
    info: info && [info.reason, info.domain, info.metadata],
    violations: error
      .findDetails(BadRequestSchema)
      .flatMap(({ fieldViolations }) => fieldViolations.map(({ field, description }) => [field, description] as const)),
    retrySeconds: retry && Number(retry.retryDelay?.seconds),
  };
}

describe.each([true, false])("fast path %s", (fastPath) => {
  let running: Running;
  beforeEach(async () => {
    running = await startStandIn({ fastPath });
  });
  afterEach(async () => {
    await running.stop();
  });

  const authorization = "Bearer mgmt.read,mgmt.write";

  describe.each(Object.entries(FACES))("%s", (_name, transportTo) => {
    const client = (headers: Readonly<Record<string, string>> = { authorization }) =>
      createClient(ConnectionService, transportTo(running.url, [withHeaders(headers)]));

    test("an invalid field returns the field name and the violated rule", async () => {
      expect(await failureOf(client().createConnection({ serverType: "" }))).toEqual({
        code: Code.InvalidArgument,
        info: ["INVALID_ARGUMENT", "patchbay.dev", {}],
        violations: [["server_type", "server_type is required."]],
        retrySeconds: undefined,
      });
    });

    test("a rate limit error contains the retry delay", async () => {
      expect(await failureOf(client().getConnection({ serverId: "429" }))).toMatchObject({
        info: ["RATE_LIMITED", "patchbay.dev", {}],
        retrySeconds: 3,
      });
    });

    test.each([
      ["404", "NOT_FOUND"],
      ["409", "CONFLICT"],
      ["412", "PRECONDITION_FAILED"],
      ["413", "REQUEST_TOO_LARGE"],
      ["500", "INTERNAL"],
      ["501", "INTERNAL"],
      ["503", "UNAVAILABLE"],
    ])("error %s has the reason %s, the same as over REST", async (serverId, reason) => {
      const said = await failureOf(client().getConnection({ serverId }));
      expect(said.info).toEqual([reason, "patchbay.dev", {}]);
      const answer = await fetch(`${running.url}/api/v1/mcp-servers/${serverId}`, { headers: { authorization } });
      expect(await answer.json()).toEqual({ detail: expect.any(String), code: reason });
    });

    test("returns different reasons for a missing token, an invalid token and a missing scope", async () => {
      const reason = async (headers: Record<string, string>) =>
        (await failureOf(client(headers).getConnection({ serverId: "1" }))).info;
      expect(await reason({})).toEqual(["CREDENTIALS_MISSING", "patchbay.dev", {}]);
      expect(await reason({ authorization: "Bearer wrong" })).toEqual(["CREDENTIALS_INVALID", "patchbay.dev", {}]);
      const scope = { scope: "mgmt.read" };
      expect(await reason({ authorization: "Bearer mgmt.write" })).toEqual([
        "INSUFFICIENT_SCOPE",
        "patchbay.dev",
        scope,
      ]);
    });

    test("errors of the protocol itself also have a reason", async () => {
      const tooLarge = client().createConnection({ serverType: "mcp", name: "x".repeat(2 ** 20 + 1) });
      expect(await failureOf(tooLarge)).toMatchObject({
        code: Code.ResourceExhausted,
        info: ["REQUEST_TOO_LARGE", "patchbay.dev", {}],
      });
      const headers = { authorization, "grpc-timeout": "soon", "connect-timeout-ms": "soon" };
      expect(await failureOf(client(headers).getConnection({ serverId: "1" }))).toMatchObject({
        code: Code.InvalidArgument,
        info: ["MALFORMED_REQUEST", "patchbay.dev", {}],
      });
    });

    test("an exceeded deadline has a reason", async () => {
      // A client-side timeout would end the call before the response; these headers set only the deadline of the
      // server.
      const headers = { authorization, "grpc-timeout": "50m", "connect-timeout-ms": "50" };
      expect(await failureOf(client(headers).getConnection({ serverId: "600" }))).toMatchObject({
        code: Code.DeadlineExceeded,
        info: ["DEADLINE_EXCEEDED", "patchbay.dev", {}],
      });
    });

    test("a rejected stream has a reason", async () => {
      const [first] = [client().watchConnections({ serverId: "404" })[Symbol.asyncIterator]()];
      expect(await failureOf(first.next())).toMatchObject({ info: ["NOT_FOUND", "patchbay.dev", {}] });
    });
  });

  test("a value of the wrong type over Connect JSON names the field, the same as over REST", async () => {
    const headers = { authorization, "content-type": "application/json" };
    const path = "/patchbay.v1.ConnectionService/CreateConnection";
    const answers = await Promise.all(
      [path, "/api/v1/mcp-servers"].map(async (to) =>
        (await fetch(running.url + to, { method: "POST", headers, body: '{"server_type": 1}' })).text(),
      ),
    );
    if (fastPath) expect(answers[0]).toContain('"reason":"INVALID_ARGUMENT"');
    expect(answers[1]).toBe(
      '{"detail":"server_type must be a string.","code":"INVALID_ARGUMENT","field":"server_type"}',
    );
  });

  test.each([
    ["incomplete JSON", "{", "application/json", 400, "MALFORMED_REQUEST"],
    ["a JSON array", "[]", "application/json", 400, "MALFORMED_REQUEST"],
    ["plain text", "{}", "text/plain", 415, "UNSUPPORTED_MEDIA_TYPE"],
    ["too large", () => " ".repeat(2 ** 20 + 1), "application/json", 413, "REQUEST_TOO_LARGE"],
  ])("REST rejects a body that is %s with a reason", async (_what, given, type, status, code) => {
    const body = typeof given === "string" ? given : given();
    const headers = { authorization, "content-type": type };
    const answer = await fetch(`${running.url}/api/v1/mcp-servers`, { method: "POST", headers, body });
    expect([answer.status, await answer.json()]).toEqual([status, { detail: expect.any(String), code }]);
  });

  test.each([
    ["GET", "/nowhere", 404, "ROUTE_NOT_FOUND"],
    ["PATCH", "/api/v1/mcp-servers", 405, "METHOD_NOT_ALLOWED"],
    ["POST", "/healthz", 405, "METHOD_NOT_ALLOWED"],
    ["PUT", "/patchbay.v1.ConnectionService/ListConnections", 405, "METHOD_NOT_ALLOWED"],
    ["GET", "/api/v1/mcp-servers?%ff", 400, "MALFORMED_REQUEST"],
    ["GET", "/api/v1/mcp-servers?color=1", 400, "INVALID_ARGUMENT", "color"],
  ])("%s %s returns %i with the reason %s", async (method, path, status, code, field?: string) => {
    const answer = await fetch(running.url + path, { method, headers: { authorization } });
    expect([answer.status, await answer.json()]).toEqual([
      status,
      { detail: expect.any(String), code, ...(field !== undefined && { field }) },
    ]);
  });
});
