import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { parseJson, printJson, type JsonObject } from "../../../src/json.ts";
import { json, result, stream, wellBehaved, type Script } from "./scripted-upstream.ts";
import { call, patient, target, textOf, tool, upstream } from "./support.ts";

describe("relays a result unchanged", () => {
  it("relays known and unknown content types, and data", async () => {
    const content = [
      { type: "text", text: "a", annotations: { audience: ["user"], priority: 0.5 }, _meta: { k: 1 } },
      { type: "image", data: "AA==", mimeType: "image/png" },
      { type: "audio", data: "AA==", mimeType: "audio/wav" },
      { type: "resource", resource: { uri: "x://y", text: "z" } },
      { type: "resource_link", uri: "x://y", name: "n" },
      { type: "hologram", depth: [1, { two: null }] },
    ];
    const said = { content, structuredContent: { a: [1] }, isError: true };
    const subject = await upstream({ "tools/call": result(said) });
    const answer = await call(subject);
    expect(answer).toEqual({
      ...said,
      json: JSON.stringify(said),
      bytes: expect.any(Number) as number,
    });
    expect(answer.bytes).toBeGreaterThan(JSON.stringify(content).length);
  });

  it("relays integers beyond 2^53 exactly, in both directions", async () => {
    const subject = await upstream({
      "tools/call": ({ message }, response) =>
        json(
          response,
          `{"jsonrpc":"2.0","id":${JSON.stringify(message.id)},"result":{"content":[],"structuredContent":{"n":12345678901234567890}}}`,
        ),
    });
    const args = parseJson('{"n":98765432109876543210}', { maxDepth: 8 }) as JsonObject;
    const answer = await subject.integration.callTool(target(subject.server.url), tool("work"), args, patient());
    expect(printJson(answer.structuredContent ?? null)).toBe('{"n":12345678901234567890}');
    expect(subject.server.of("tools/call")[0]?.text).toContain('"arguments":{"n":98765432109876543210}');
  });

  it("adds no text block to a result without one", async () => {
    const subject = await upstream({ "tools/call": result({ content: [], structuredContent: { a: 1 } }) });
    expect(await call(subject)).toMatchObject({ content: [], structuredContent: { a: 1 } });
  });

  it("returns data that is not an object as text to callers that cannot receive it", async () => {
    const subject = await upstream({ "tools/call": result({ content: [], structuredContent: [1, "b"] }) });
    const answer = await call(subject);
    expect(answer.content).toEqual([{ type: "text", text: '[1,"b"]' }]);
    expect(answer.structuredContent).toBeUndefined();
    expect(answer.json).toBe('{"content":[],"structuredContent":[1,"b"]}');
  });

  it("relays white space, number formats, key order and escapes byte for byte", async () => {
    const said =
      '{ "structuredContent" : {"2":1.0,"1":1e2,"b":"\\u00e9\\/"}, "isError":false,\n"content":[],"x-own":null }';
    const subject = await upstream({
      "tools/call": ({ message }, response) =>
        json(response, `{"result":${said},"jsonrpc":"2.0","id":${JSON.stringify(message.id)}}`),
    });
    expect((await call(subject)).json).toBe(said);
  });
});

describe("a stream", () => {
  it("may contain notifications, pings and other requests before the answer, and every request gets a response", async () => {
    const subject = await upstream({
      "tools/call": ({ message }, response) => {
        const { send } = stream(response);
        response.write(": a comment\nretry: 5\n\n");
        send({ jsonrpc: "2.0", method: "notifications/progress", params: {} });
        send({ jsonrpc: "2.0", id: "p", method: "ping" });
        send({ jsonrpc: "2.0", id: message.id, method: "sampling/createMessage", params: {} });
        send({ jsonrpc: "2.0", id: 999, result: {} });
        send({ jsonrpc: "2.0", id: message.id, result: { content: [{ type: "text", text: "ü".repeat(50_000) }] } });
        response.end();
      },
    });
    expect(textOf(await call(subject))).toBe("ü".repeat(50_000));
    await subject.server.until("POST", 6);
    const replies = subject.server.received.map(({ message }) => message).filter(({ method }) => method === undefined);
    expect(replies).toContainEqual({ jsonrpc: "2.0", id: "p", result: {} });
    expect(replies).toContainEqual({
      jsonrpc: "2.0",
      id: expect.any(Number) as number,
      error: { code: -32601, message: "sampling/createMessage is not supported by this client" },
    });
  });

  it("for messages outside calls is open before the first call, so that the upstream's requests on it are answered", async () => {
    let ask = (_message: JsonObject): void => undefined;
    let answer = (_result: JsonObject): void => undefined;
    const error: Script = (received, response) => {
      if (received.message.error === undefined) {
        wellBehaved(received, response);
        return;
      }
      response.writeHead(202).end();
      answer({ content: [{ type: "text", text: `asked in vain: ${JSON.stringify(received.message.error)}` }] });
    };
    const subject = await upstream(
      {
        GET: (_request, response) => {
          const { send } = stream(response);
          response.flushHeaders();
          ask = send;
        },
        "tools/call": ({ message }, response) => {
          answer = (value) => json(response, { jsonrpc: "2.0", id: message.id, result: value });
          ask({ jsonrpc: "2.0", id: "s", method: "sampling/createMessage", params: {} });
        },
        POST: error,
      },
      { timeoutMs: 5_000 },
    );
    const there = target(subject.server.url);
    for (let turn = 0; turn < 3; turn += 1) {
      const result = await subject.integration.callTool(there, tool("work"), {}, patient());
      expect(textOf(result)).toContain("sampling/createMessage is not supported by this client");
    }
    expect(subject.server.of("GET")).toHaveLength(1);
  });

  it("for messages outside calls is optional: without it calls and sessions work", async () => {
    const notFound: Script = (_request, response) => void response.writeHead(404).end("Cannot GET /mcp");
    const subject = await upstream({ GET: notFound });
    const there = target(subject.server.url);
    for (let turn = 0; turn < 3; turn += 1) {
      expect(textOf(await subject.integration.callTool(there, tool("work"), {}, patient()))).toBe("done");
    }
    expect(subject.server.of("initialize")).toHaveLength(1);
    expect(subject.server.of("tools/call")).toHaveLength(3);
  });

  it("that stays open after the answer does not delay the caller", async () => {
    const subject = await upstream({
      "tools/call": ({ message }, response) =>
        stream(response).send({ jsonrpc: "2.0", id: message.id, result: { content: [{ type: "text", text: "now" }] } }),
    });
    expect(textOf(await call(subject))).toBe("now");
  });

  it("that ends early is resumed without repeating the call", async () => {
    let id: unknown;
    const subject = await upstream({
      "tools/call": ({ message }, response) => {
        id = message.id;
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.end("id: e1\nretry: 10\ndata: \n\n");
      },
      GET: (_request, response) => {
        stream(response).send({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "resumed" }] } });
        response.end();
      },
    });
    expect(textOf(await call(subject))).toBe("resumed");
    expect(subject.server.of("GET").map(({ headers }) => headers)).toContainEqual(
      expect.objectContaining({ "last-event-id": "e1", "mcp-session-id": "session-1" }),
    );
    expect(subject.server.of("tools/call")).toHaveLength(1);
  });
});

describe("does not repeat a call that may have been executed", () => {
  const reset: Script = (_request, response) => void response.socket?.resetAndDestroy();
  it("returns an error that says so when the connection breaks", async () => {
    const subject = await upstream({ "tools/call": reset });
    const answer = await call(subject);
    expect(answer.isError).toBe(true);
    expect(textOf(answer)).toMatch(/broke the connection.*may have been carried out/);
    expect(subject.server.of("tools/call")).toHaveLength(1);
  });

  it("does not repeat it when its stream cannot be resumed, even if the session is lost", async () => {
    const subject = await upstream({
      "tools/call": (_request, response) => {
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.end("id: e1\nretry: 1\ndata: \n\n");
      },
      GET: (_request, response) => void response.writeHead(404).end(),
    });
    expect(textOf(await call(subject))).toMatch(/before it was complete.*may have been carried out/);
    expect(subject.server.of("tools/call")).toHaveLength(1);
    expect(subject.server.of("initialize")).toHaveLength(1);
  });

  it("repeats the call if the tool is read-only", async () => {
    let breaks = 1;
    const subject = await upstream({
      "tools/call": (request, response) => (breaks-- > 0 ? reset : wellBehaved)(request, response),
    });
    const answer = await subject.integration.callTool(
      target(subject.server.url),
      tool("look", { readOnly: true }),
      {},
      patient(),
    );
    expect(textOf(answer)).toBe("done");
    expect(subject.server.of("tools/call")).toHaveLength(2);
  });
});

describe("a caller that aborts", () => {
  it("cancels the running request upstream", async () => {
    let hungUp: Promise<unknown> | undefined;
    const subject = await upstream({
      "tools/call": (_request, response) => {
        hungUp = once(response, "close");
      },
    });
    const leaving = new AbortController();
    const pending = subject.integration.callTool(
      target(subject.server.url),
      tool("work"),
      {},
      { signal: leaving.signal },
    );
    await subject.server.until("tools/call");
    leaving.abort(new Error("the caller left"));
    await expect(pending).rejects.toThrow("the caller left");
    await subject.server.until("notifications/cancelled");
    await hungUp;
    const [sent] = subject.server.of("tools/call");
    expect(subject.server.of("notifications/cancelled")[0]?.message.params).toMatchObject({
      requestId: sent?.message.id,
    });
  });

  it("does not cancel the handshake for other callers", async () => {
    let answer: (() => void) | undefined;
    const subject = await upstream({
      initialize: (request, response) => (answer = () => wellBehaved(request, response)),
    });
    const connection = target(subject.server.url);
    const leaving = new AbortController();
    const left = subject.integration.callTool(connection, tool("work"), {}, { signal: leaving.signal });
    const stayed = subject.integration.callTool(connection, tool("work"), {}, patient());
    await subject.server.until("initialize");
    leaving.abort(new Error("the caller left"));
    await expect(left).rejects.toThrow("the caller left");
    answer?.();
    expect(textOf(await stayed)).toBe("done");
  });

  it("sends nothing if it aborts before the call was sent", async () => {
    const subject = await upstream({});
    const signal = AbortSignal.abort(new Error("already gone"));
    await expect(
      subject.integration.callTool(target(subject.server.url), tool("work"), {}, { signal }),
    ).rejects.toThrow("already gone");
    expect(subject.server.of("tools/call")).toHaveLength(0);
  });
});
