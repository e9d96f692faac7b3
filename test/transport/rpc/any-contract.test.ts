import { create, createFileRegistry, setExtension, type DescMethod } from "@bufbuild/protobuf";
import {
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FieldDescriptorProtoSchema,
  file_google_protobuf_struct,
  file_google_protobuf_timestamp,
  FileDescriptorProtoSchema,
  MethodOptionsSchema,
} from "@bufbuild/protobuf/wkt";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { http } from "../../../gen/proto/google/api/annotations_pb.ts";
import { HttpRuleSchema } from "../../../gen/proto/google/api/http_pb.ts";
import { createFailWithDetail } from "../../../src/transport/http/answer.ts";
import { createPort } from "../../../src/transport/http/port.ts";
import { serveRoutes } from "../../../src/transport/http/serve-routes.ts";
import { serveRpc } from "../../../src/transport/rpc/calls.ts";
import { createRpcHandler } from "../../../src/transport/rpc/connect/protocol-handler.ts";
import { readBindings } from "../../../src/transport/rpc/rest/binding.ts";
import { createRestHandler } from "../../../src/transport/rpc/rest/protocol-handler.ts";
import { readRpc } from "../../../src/transport/rpc/rpc.ts";
import type { JsonObject } from "../../../src/json.ts";
import { createTimeLimit } from "../../../src/time-limit.ts";
import { callRpc } from "../../support/rpc-client.ts";

const { BYTES, DOUBLE, INT64, MESSAGE, STRING } = FieldDescriptorProto_Type;
const { OPTIONAL, REPEATED } = FieldDescriptorProto_Label;

function field(name: string, number: number, type: FieldDescriptorProto_Type, more: object = {}) {
  return create(FieldDescriptorProtoSchema, { name, jsonName: name, number, type, label: OPTIONAL, ...more });
}

function mapEntry(name: string, type: FieldDescriptorProto_Type, more: object = {}) {
  return { name, options: { mapEntry: true }, field: [field("key", 1, STRING), field("value", 2, type, more)] };
}

/** A service that echoes its request, with a field of every kind that the contracts of this product do not contain. */
function echoMethod(): DescMethod {
  const options = create(MethodOptionsSchema);
  setExtension(
    options,
    http,
    create(HttpRuleSchema, {
      pattern: { case: "post", value: "/echo" },
      body: "*",
      additionalBindings: [{ pattern: { case: "get", value: "/echo/{text}" } }],
    }),
  );
  const file = create(FileDescriptorProtoSchema, {
    name: "any.proto",
    package: "any",
    syntax: "proto3",
    dependency: [file_google_protobuf_struct, file_google_protobuf_timestamp].map(({ proto }) => proto.name),
    messageType: [
      {
        name: "Thing",
        oneofDecl: [{ name: "choice" }],
        nestedType: [
          mapEntry("LabelsEntry", STRING),
          mapEntry("ObjectsEntry", MESSAGE, { typeName: ".google.protobuf.Struct" }),
        ],
        field: [
          field("content", 1, BYTES),
          field("labels", 2, MESSAGE, { typeName: ".any.Thing.LabelsEntry", label: REPEATED }),
          field("text", 3, STRING, { oneofIndex: 0 }),
          field("count", 4, INT64, { oneofIndex: 0 }),
          field("at", 5, MESSAGE, { typeName: ".google.protobuf.Timestamp" }),
          field("ratio", 6, DOUBLE),
          field("exact", 7, MESSAGE, { typeName: ".google.protobuf.Struct" }),
          field("objects", 8, MESSAGE, { typeName: ".any.Thing.ObjectsEntry", label: REPEATED }),
          field("parts", 9, MESSAGE, { typeName: ".any.Thing", label: REPEATED }),
        ],
      },
    ],
    service: [{ name: "Echo", method: [{ name: "Echo", inputType: ".any.Thing", outputType: ".any.Thing", options }] }],
  });
  const known = [file_google_protobuf_struct, file_google_protobuf_timestamp].map(({ proto }) => proto);
  const files = new Map([...known, file].map((each) => [each.name, each]));
  const method = createFileRegistry(file, (name) => files.get(name)).getService("any.Echo")?.methods[0];
  if (method === undefined) throw new Error("the file has no method");
  return method;
}

const method = echoMethod();
const log = { error: () => {}, warn: () => {} };
let url = "";
let close: () => Promise<void>;

beforeAll(async () => {
  const access = { audiences: [], isPublic: true };
  const spec = {
    kind: "unary",
    method: { ...method, methodKind: "unary" },
    impl: (thing: object) => ({ ...thing }),
  } as const;
  const rpc = serveRpc(readRpc(method, access), spec, undefined);
  const deps = {
    gate: () => undefined,
    timeLimit: createTimeLimit(10_000),
    log,
    shutdownSignal: new AbortController().signal,
    fastPath: true,
  };
  const fail = createFailWithDetail(log);
  const handler = serveRoutes([
    { path: rpc.path, methods: createRpcHandler(rpc, deps), fail },
    ...readBindings(rpc).map((binding) => ({
      path: binding.template,
      methods: { [binding.httpMethod]: createRestHandler(binding, deps) },
      fail,
    })),
  ]);
  const port = createPort({ host: "127.0.0.1", port: 0, handler });
  url = `http://127.0.0.1:${(await port.listen()).port}`;
  close = () => port.close(0);
});
afterAll(() => close());

/** Posts a body unchanged to a path. Returns the status and text of the response. */
async function post(path: string, body: string): Promise<{ status: number; text: string }> {
  const answer = await fetch(url + path, { method: "POST", body, headers: { "content-type": "application/json" } });
  return { status: answer.status, text: await answer.text() };
}

const WHOLE =
  '{"content":"AP8=","labels":{"a":"b"},"count":"9007199254740993","at":"2026-11-22T10:00:00.250Z","ratio":"NaN",' +
  '"exact":{"n":9007199254740993},"objects":{"x":{"n":9007199254740993}},"parts":[]}';
const ROUNDED = WHOLE.replaceAll('"n":9007199254740993', '"n":9007199254740992');

const AT_FAULT = "at must be an RFC 3339 time such as 2026-07-01T09:00:00Z.";

describe("a contract with bytes, maps, oneofs, well-known types and 64-bit numbers", () => {
  test("echoes the whole message over REST and keeps every digit of numbers in objects", async () => {
    expect(await post("/echo", WHOLE)).toEqual({ status: 200, text: WHOLE });
  });

  test("echoes a message that contains messages of the same type", async () => {
    const nested = `{"content":"","labels":{},"ratio":0,"objects":{},"parts":[${WHOLE}]}`;
    expect(await post("/echo", nested)).toEqual({ status: 200, text: nested });
  });

  test("reads fields from the path and the query", async () => {
    const answer = await fetch(`${url}/echo/words?content=AP8%3D&ratio=0.5&at=2026-11-22T10:00:00.250Z`);
    expect(await answer.json()).toEqual({
      content: "AP8=",
      labels: {},
      text: "words",
      at: "2026-11-22T10:00:00.250Z",
      ratio: 0.5,
      objects: {},
      parts: [],
    });
  });

  test("accepts a date without a time as a timestamp over REST", async () => {
    const answer = await fetch(`${url}/echo/words?at=2026-11-22`);
    expect(await answer.json()).toMatchObject({ at: "2026-11-22T00:00:00.000Z" });
  });

  test("names the field of an invalid timestamp over Connect JSON", async () => {
    const { status, text } = await post("/any.Echo/Echo", '{"at":"2026-11-22"}');
    expect([status, JSON.parse(text)]).toMatchObject([400, { code: "invalid_argument", message: AT_FAULT }]);
  });

  test.each([
    ["content", '{"content":5}'],
    ["labels", '{"labels":{"a":5}}'],
    ["count", '{"count":"many"}'],
    ["at", '{"at":"yesterday"}'],
    ["count", '{"text":"a","count":"1"}'],
    ["objects", '{"objects":[]}'],
  ])("names the invalid field %s over REST for the body %s", async (name, body) => {
    const { status, text } = await post("/echo", body);
    expect([status, JSON.parse(text)]).toEqual([
      400,
      { detail: expect.stringContaining(name) as string, code: "INVALID_ARGUMENT", field: name },
    ]);
  });

  test("echoes the message over Connect JSON, with numbers in objects as doubles", async () => {
    const sent = ROUNDED.replaceAll("9007199254740992", "1");
    const { status, text } = await post("/any.Echo/Echo", sent);
    expect([status, JSON.parse(text)]).toEqual([200, JSON.parse(sent)]);
  });

  test("echoes the binary message over Connect and gRPC", async () => {
    const options = { baseUrl: url, httpVersion: "2", useBinaryFormat: true } as const;
    const sent: JsonObject = JSON.parse(ROUNDED.replaceAll("9007199254740992", "1"));
    for (const transport of [createConnectTransport(options), createGrpcTransport(options)]) {
      expect(await callRpc(transport, method, sent, new Headers())).toMatchObject({ status: "ok", body: sent });
    }
  });
});
