import { expect, test, vi } from "vitest";
import type { Principal } from "../../../src/identity/principal.ts";
import type { McpSession } from "../../../src/runtime/sessions/session.ts";
import { createTimeLimit } from "../../../src/time-limit.ts";
import { printPosted, readPosted } from "../../../src/transport/mcp/sse/posted-message.ts";
import { createSseStream } from "../../../src/transport/mcp/sse/sse-stream.ts";
import type { SseServing } from "../../../src/transport/mcp/sse/sse-serving.ts";

const PRINCIPAL: Principal = {
  accountId: "acc_1",
  clientId: "client_1",
  scopes: new Set(["mcp.read", "mcp.write"]),
  connectionId: undefined,
  grantId: "grant_1",
  memberId: undefined,
  role: undefined,
  connectionIds: new Set([3, 4]),
  tokenId: "token_1",
  audience: "http://localhost/mcp",
  issuedAt: 1,
  expiresAt: undefined,
};

const SESSION = { accountId: "acc_1", id: "s".repeat(32), protocolVersion: "2025-11-25" } as McpSession;

const LIMITER = { enter: () => undefined, leave: () => undefined };

/** A stream whose requests are answered by `respond`. */
function createSubject(respond: () => Promise<string>, timeLimitMs = 60_000) {
  const serving = {
    requests: { settle: async () => ({ text: await respond(), outage: undefined }) },
    sessions: { require: () => SESSION },
    log: { warn: () => undefined, error: () => undefined },
    timeLimit: createTimeLimit(timeLimitMs),
    upstreamLimiter: LIMITER,
    poolLimiter: LIMITER,
  } as unknown as SseServing;
  const stream = createSseStream(serving, { bearer: PRINCIPAL, session: SESSION }, (bearer) => bearer);
  const post = (id: number): void =>
    stream.receive(
      printPosted({ bearer: PRINCIPAL, body: JSON.stringify({ jsonrpc: "2.0", id, method: "tools/list" }) }),
    );
  return { stream, post };
}

test("a relayed message keeps its principal and the text of its body", () => {
  const body = '{"a": 12345678901234567890,\n "b": "ü"}';
  expect(readPosted(printPosted({ bearer: PRINCIPAL, body }))).toEqual({ bearer: PRINCIPAL, body });
  const bound = { ...PRINCIPAL, connectionId: 7, grantId: undefined, connectionIds: undefined, expiresAt: 9 };
  expect(readPosted(printPosted({ bearer: bound, body: "[]" }))).toEqual({ bearer: bound, body: "[]" });
});

test("a relayed message without a principal is not read", () => {
  expect(() => readPosted("[]\n{}")).toThrow("no principal");
  expect(() => readPosted("{}\n{}")).toThrow("accountId of a relayed principal is missing");
});

test("closes the stream of a client that does not read its responses", async () => {
  const { stream, post } = createSubject(async () => "x".repeat(1024 * 1024));
  const close = vi.fn();
  const sent: number[] = [];
  stream.attach({
    send: (event) => {
      sent.push(event.length);
      return new Promise(() => undefined);
    },
    close,
  });
  for (let id = 1; id <= 20; id += 1) post(id);
  await vi.waitFor(() => expect(close).toHaveBeenCalled());
  expect(sent).toHaveLength(16);
});

test("closes the stream only after the last response when the replica stops", async () => {
  const pending = Promise.withResolvers<string>();
  const { stream, post } = createSubject(() => pending.promise);
  const order: string[] = [];
  stream.attach({ send: async (event) => void order.push(event), close: () => undefined });
  post(1);
  await new Promise((resolve) => setImmediate(resolve));
  stream.stop(() => order.push("closed"));
  expect(order).toEqual([]);
  pending.resolve("the response");
  await vi.waitFor(() => expect(order).toContain("closed"));
  expect(order).toEqual(["event: message\ndata: the response\n\n", "closed"]);
});

test("answers a request that takes too long once, with an error", async () => {
  const pending = Promise.withResolvers<string>();
  const { stream, post } = createSubject(() => pending.promise, 10);
  const sent: string[] = [];
  stream.attach({ send: async (event) => void sent.push(event), close: () => undefined });
  post(5);
  await vi.waitFor(() => expect(sent).toHaveLength(1));
  expect(sent[0]).toContain('"id":5,"error":{"code":-32000,"message":"The request took too long."}');
  pending.resolve("too late");
  await new Promise((resolve) => setImmediate(resolve));
  expect(sent).toHaveLength(1);
});
