import { create, toJson, type DescMessage, type DescMethod } from "@bufbuild/protobuf";
import { timestampFromDate, TimestampSchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";
import {
  ConnectionService,
  ListConnectionToolsResponseSchema,
  GetConnectionResponseSchema,
  DeleteConnectionResponseSchema,
} from "../../../gen/proto/patchbay/v1/connection_service_pb.ts";
import {
  CallToolResponseSchema,
  ListToolsResponseSchema,
  RuntimeService,
} from "../../../gen/proto/patchbay/v1/runtime_service_pb.ts";
import { ServerReflection } from "../../../gen/proto/grpc/reflection/v1/reflection_pb.ts";
import { createMessageWriter } from "../../../src/transport/rpc/rest/write-message.ts";
import { readRpc } from "../../../src/transport/rpc/rpc.ts";

const schema = {
  type: "object",
  properties: { a: { type: "string", enum: ["é", "\u{1f600}"] } },
  required: [],
  n: 1.5,
  z: null,
};
const connection = {
  id: 2147483647,
  mcpServerName: "Zoë \u{1f600}",
  apiKeyVerificationStatus: "verified",
  oauth2ClientId: "x".repeat(300),
  oauth2Scopes: ["a", ""],
  agentEnabled: true,
  disabledTools: [0, 1, 300, -1],
  createdAt: timestampFromDate(new Date("2026-01-02T03:04:05.678Z")),
  accessType: "write",
};

const SAMPLES: readonly (readonly [DescMessage, object])[] = [
  ...[...ConnectionService.methods, ...RuntimeService.methods].map(
    (method: DescMethod) => [method.output, {}] as const,
  ),
  [GetConnectionResponseSchema, { success: false, data: connection }],
  [GetConnectionResponseSchema, { message: "", connection: { connectionId: "1", config: schema, oauth2Scopes: [] } }],
  [DeleteConnectionResponseSchema, { success: true, data: 0, message: "m" }],
  [
    ListConnectionToolsResponseSchema,
    {
      success: true,
      data: {
        tools: [
          {
            name: "t",
            description: "d",
            inputSchema: schema,
            annotations: { audience: ["user"], requiresAuth: true, category: "" },
            id: 1,
          },
        ],
        totalCount: 1,
        mcpServerId: 7,
        limit: 0,
        offset: 0,
        hasMore: false,
      },
    },
  ],
  [
    ListToolsResponseSchema,
    {
      tools: Array.from({ length: 200 }, (_, index) => ({ name: `t${String(index)}`, inputSchema: schema })),
      nextCursor: "",
    },
  ],
  [CallToolResponseSchema, { content: [schema, {}], isError: true, structuredContent: {} }],
];

describe.each(
  SAMPLES.map(([desc, init]) => {
    const shown = JSON.stringify(init, (_key, value: unknown) => (typeof value === "bigint" ? String(value) : value));
    return [`${desc.typeName} ${shown.slice(0, 40)}`, desc, init] as const;
  }),
)("%s", (_name, desc, init) => {
  test("writes the same JSON as protobuf with implicit fields, for a message and for its initializer", () => {
    const message = create(desc, { ...init });
    const expected = toJson(desc, message, { alwaysEmitImplicit: true });
    const write = createMessageWriter(desc);
    expect(JSON.parse(JSON.stringify(write(message)))).toEqual(expected);
    expect(JSON.parse(JSON.stringify(write(init)))).toEqual(expected);
  });
});

test.each([
  ["2026-01-02T03:04:05.000Z", { seconds: 1_767_323_045n, nanos: 0 }],
  ["2026-01-02T03:04:05.120Z", { seconds: 1_767_323_045n, nanos: 120_000_000 }],
  ["2026-01-02T03:04:05.120456Z", { seconds: 1_767_323_045n, nanos: 120_456_000 }],
  ["1969-12-31T23:59:59.999Z", { seconds: -1n, nanos: 999_000_000 }],
])("writes timestamps with at least three fractional digits: %s", (text, { seconds, nanos }) => {
  const createdAt = create(TimestampSchema, { seconds, nanos });
  const write = createMessageWriter(GetConnectionResponseSchema);
  expect(write({ success: true, data: { ...connection, createdAt } })).toMatchObject({ data: { created_at: text } });
});

describe("options of RPCs", () => {
  test("every RPC declares its required scope and its error texts", () => {
    for (const method of [...ConnectionService.methods, ...RuntimeService.methods]) {
      const rpc = readRpc(method, { audiences: [] });
      expect(rpc.requiredScopes.length).toBeGreaterThan(0);
      expect(rpc.texts.forbidden).toMatch(/^You do not have permission to /);
      expect(rpc.texts.internal).toMatch(/^Failed to /);
    }
  });

  test("rejects an RPC that declares neither a scope nor that it is public", () => {
    const [method] = ServerReflection.methods;
    if (method === undefined) throw new Error("reflection has one method");
    expect(() => readRpc(method, { audiences: [] })).toThrow("declares neither required_scope nor public");
    expect(readRpc(method, { audiences: [], isPublic: true }).isPublic).toBe(true);
  });
});
