import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import type { JsonObject } from "../../../src/json.ts";
import type { ClientAnswer, RelayedClient, RequestToClient } from "../../../src/integrations/relayed-client.ts";
import { fetchChallenge } from "../../../src/integrations/mcp/fetch-challenge.ts";
import { createGuardedDispatcher } from "../../../src/outbound/guarded-dispatcher.ts";
import { type SseServer, startSseServer } from "../../support/sse-server.ts";
import { until } from "../../support/until.ts";
import { startEverythingServer, type EverythingServer } from "./everything-server.ts";
import { announce, type ScriptedSse, sendOn, type SseScript, startScriptedSse } from "./hostile-sse.ts";
import { createSubject, patient, target, textOf, tool, type Times } from "./support.ts";

const answer = (result: JsonObject): ClientAnswer => ({ kind: "result", result });

function clientThat(audience: string, ask: (request: RequestToClient) => ClientAnswer): RelayedClient {
  return {
    capabilities: { elicitation: {}, sampling: {}, roots: {} },
    audience,
    input: undefined,
    ask: async (request) => ask(request),
    notify: () => undefined,
  };
}

describe("a server that speaks HTTP+SSE", () => {
  let server: SseServer;
  let subject: ReturnType<typeof createSubject>;
  beforeAll(async () => {
    server = await startSseServer();
    subject = createSubject([server.url]);
  });
  afterAll(async () => {
    await subject.close();
    await server.close();
  });

  it("is verified over HTTP+SSE, and the stream of the verification is closed", async () => {
    expect(await subject.integration.verify(target(server.url), patient())).toEqual({ outcome: "verified" });
    await until(async () => server.streams() === 0, { what: "the stream is closed" });
  });

  it("lists its tools", async () => {
    const tools = await subject.integration.listTools(target(server.url), patient());
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(["look_up", "count", "ask_person"]));
  });

  it("serves concurrent calls over one stream", async () => {
    const connection = target(server.url);
    const before = server.streams();
    const calls = Array.from({ length: 20 }, () =>
      subject.integration.callTool(connection, tool("look_up"), {}, patient()),
    );
    expect((await Promise.all(calls)).map(textOf)).toEqual(calls.map(() => "found"));
    expect(server.streams()).toBe(before + 1);
  });

  it("relays progress and log messages to the call that they belong to", async () => {
    const progress: unknown[] = [];
    const messages: unknown[] = [];
    const connection = target(server.url);
    const relay = {
      onProgress: (params: JsonObject) => void progress.push(params.progress),
      onMessage: ({ params }: { params: JsonObject }) => void messages.push(params.data),
    };
    await subject.integration.callTool(connection, tool("count"), {}, { ...patient(), ...relay });
    expect(progress).toEqual([1, 2, 3]);
    await subject.integration.callTool(connection, tool("say"), {}, { ...patient(), ...relay });
    expect(messages).toEqual(["said"]);
  });

  it("relays elicitation, sampling and roots to the client of the call", async () => {
    const asked: string[] = [];
    const client = clientThat("one", ({ method }) => {
      asked.push(method);
      if (method === "roots/list") return answer({ roots: [{ uri: "file:///home" }] });
      if (method === "elicitation/create") return answer({ action: "accept", content: { name: "Ada" } });
      return answer({ role: "assistant", model: "m", content: { type: "text", text: "Hi" } });
    });
    const connection = target(server.url);
    const call = (name: string) =>
      subject.integration.callTool(connection, tool(name), {}, { ...patient(), client }).then(textOf);
    expect(await call("ask_person")).toBe("accept Ada");
    expect(await call("ask_model")).toContain("Hi");
    expect(await call("ask_roots")).toContain("file:///home");
    expect(asked).toEqual(["elicitation/create", "sampling/createMessage", "roots/list"]);
  });

  it("refuses requests to a client that declared nothing", async () => {
    const call = subject.integration.callTool(target(server.url), tool("ask_person"), {}, patient());
    await expect(call).rejects.toThrow("Client does not support form elicitation");
  });

  it("announces changes of its tool list", async () => {
    const connection = target(server.url);
    const heard: unknown[] = [];
    subject.integration.onNotification?.((id, notification) => {
      if (id === connection.connectionId) heard.push(notification);
    });
    await subject.integration.callTool(connection, tool("add_tool"), {}, patient());
    await vi.waitFor(() => expect(heard).toContainEqual({ kind: "list_changed", list: "tools" }), { timeout: 10_000 });
  });

  it("is told that a call was canceled", async () => {
    const controller = new AbortController();
    const before = server.canceled();
    const call = subject.integration.callTool(target(server.url), tool("wait"), {}, { signal: controller.signal });
    await until(async () => server.running() === 1);
    controller.abort(new Error("no longer wanted"));
    await expect(call).rejects.toThrow("no longer wanted");
    await until(async () => server.canceled() === before + 1);
  });

  it("causes a clear error for running calls when its stream closes, and is connected again by the next call", async () => {
    const connection = target(server.url);
    const call = subject.integration.callTool(connection, tool("wait"), {}, patient());
    await until(async () => server.running() === 1);
    server.drop();
    const result = await call;
    expect(result.isError).toBe(true);
    expect(textOf(result)).toMatch(/closed its event stream|broke the connection/);
    expect(textOf(result)).toContain("The call may have been carried out.");
    const next = await subject.integration.callTool(connection, tool("look_up"), {}, patient());
    expect(textOf(next)).toBe("found");
  });

  it("has its stream closed with the connection", async () => {
    const connection = target(server.url);
    await subject.integration.callTool(connection, tool("look_up"), {}, patient());
    const before = server.streams();
    subject.integration.forget?.(connection.connectionId);
    await until(async () => server.streams() === before - 1);
  });
});

describe("the reference MCP server over HTTP+SSE", () => {
  let server: EverythingServer;
  let subject: ReturnType<typeof createSubject>;
  beforeAll(async () => {
    server = await startEverythingServer("sse");
    subject = createSubject([server.url]);
  });
  afterAll(async () => {
    await subject.close();
    await server.stop();
  });

  it("is verified, listed and called", async () => {
    const connection = target(server.url);
    expect(await subject.integration.verify(connection, patient())).toEqual({ outcome: "verified" });
    const tools = await subject.integration.listTools(connection, patient());
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(["echo", "get-sum"]));
    const echo = await subject.integration.callTool(connection, tool("echo"), { message: "grüß" }, patient());
    expect(textOf(echo)).toBe("Echo: grüß");
  });

  it("lists and reads resources and prompts", async () => {
    const connection = target(server.url);
    const { features } = subject.integration;
    const listing = await features?.listFeatures(connection, patient());
    expect(listing?.capabilities).toMatchObject({ resources: true, prompts: true, subscribe: true });
    const uri = listing?.resources[0]?.key ?? "";
    const read = await features?.request(connection, { method: "resources/read", uri }, patient());
    expect(read).toMatchObject({ kind: "result", json: expect.stringContaining(uri) as string });
    const prompt = { method: "prompts/get", name: listing?.prompts[0]?.key ?? "", args: {} } as const;
    expect(await features?.request(connection, prompt, patient())).toMatchObject({ kind: "result" });
  });

  it("is called again after a restart", async () => {
    const connection = target(server.url);
    const call = (message: string) => subject.integration.callTool(connection, tool("echo"), { message }, patient());
    expect(textOf(await call("before"))).toBe("Echo: before");
    await server.restart();
    expect(textOf(await call("after"))).toBe("Echo: after");
  });
});

describe("a server that asks for a token only on its event stream", () => {
  async function guarded() {
    const server = await startScriptedSse({ token: "a-secret-token" });
    const subject = createSubject([server.url]);
    onTestFinished(async () => {
      await subject.close();
      server.close();
    });
    return { server, subject };
  }

  it("is verified and called with the key of the connection", async () => {
    const { server, subject } = await guarded();
    const connection = target(server.url, { api_token: "a-secret-token" });
    expect(await subject.integration.verify(connection, patient())).toEqual({ outcome: "verified" });
    expect(textOf(await subject.integration.callTool(connection, tool("work"), {}, patient()))).toBe("done");
  });

  it("fails the verification of a wrong or missing key", async () => {
    const { server, subject } = await guarded();
    for (const configuration of [{}, { api_token: "another-token" }]) {
      const { outcome } = await subject.integration.verify(target(server.url, configuration), patient());
      expect(outcome).toBe("failed");
    }
  });

  it("has its challenge read for an authorization by the owner", async () => {
    const { server } = await guarded();
    const dispatcher = createGuardedDispatcher({ allow: [new URL(server.url).host] });
    onTestFinished(() => dispatcher.destroy());
    const access = { dispatcher, checkDestination: () => undefined };
    expect(await fetchChallenge({ url: server.url }, access, patient().signal)).toMatchObject({ scope: "tools" });
  });
});

describe("a hostile server that speaks HTTP+SSE", () => {
  async function scripted(script: SseScript, times: Times = {}, allowed: readonly string[] = []) {
    const server: ScriptedSse = await startScriptedSse(script);
    const subject = createSubject([server.url, ...allowed], times);
    onTestFinished(async () => {
      await subject.close();
      server.close();
    });
    const connection = target(server.url);
    const call = () => subject.integration.callTool(connection, tool("work"), {}, patient());
    return { server, subject, call };
  }

  it("cannot send messages to another origin", async () => {
    const other = await startScriptedSse({});
    onTestFinished(() => other.close());
    for (const address of [other.url, "https://elsewhere.example/message", "//elsewhere.example/message", "http://"]) {
      const { call, server } = await scripted({ onStream: (stream) => announce(stream, address) }, {}, [other.url]);
      const result = await call();
      expect(result.isError).toBe(true);
      expect(textOf(result)).toMatch(/address for messages that is not on the same server/);
      expect([...server.posted, ...other.posted]).toEqual([]);
    }
  });

  it("may announce an absolute address of its own origin, whose user info is not used", async () => {
    const { call, server } = await scripted({
      onStream: (stream, port) => announce(stream, `http://user:secret@127.0.0.1:${port}/message?sessionId=2#part`),
    });
    expect(textOf(await call())).toBe("done");
    expect(new Set(server.posted)).toEqual(new Set(["/message?sessionId=2"]));
  });

  it("that announces no address is reported", async () => {
    const { call } = await scripted({ onStream: (stream) => void stream.write(": hello\n\n") }, { timeoutMs: 500 });
    const result = await call();
    expect(result.isError).toBe(true);
    expect(textOf(result)).toContain("opened an event stream but announced no address for messages");
  });

  it("that sends an endless event is cut off at 5 MiB", async () => {
    const chunk = "x".repeat(64 * 1024);
    const flood = (stream: { write(text: string): boolean; destroyed: boolean }): void => {
      if (stream.destroyed) return;
      stream.write(chunk);
      setImmediate(() => flood(stream));
    };
    const { call } = await scripted({
      onMessage: ({ method }, stream) => {
        if (method !== "tools/call") return false;
        stream.write("event: message\ndata: ");
        flood(stream);
        return true;
      },
    });
    const result = await call();
    expect(result.isError).toBe(true);
    expect(textOf(result)).toContain("more than 5 MiB");
  });

  it("that ends the stream before its answer is reported, and the call is not repeated", async () => {
    let calls = 0;
    const { call } = await scripted({
      onMessage: ({ method }, stream) => {
        if (method !== "tools/call") return false;
        calls += 1;
        stream.end();
        return true;
      },
    });
    const result = await call();
    expect(textOf(result)).toMatch(/closed its event stream before its answer was complete.*may have been carried out/);
    expect(calls).toBe(1);
  });

  it("that refuses every message is reported after one more attempt", async () => {
    const { call, server } = await scripted({ status: 404 });
    const result = await call();
    expect(result.isError).toBe(true);
    expect(textOf(result)).toContain("HTTP 404");
    expect(server.posted.length).toBeLessThan(5);
  });

  it("gets no answers to responses of other requests and to text that is not JSON", async () => {
    const { call } = await scripted({
      onMessage: ({ method, id }, stream) => {
        if (method !== "tools/call") return false;
        stream.write("event: message\ndata: not json\n\n");
        sendOn(stream, { jsonrpc: "2.0", id: 4_711, result: { content: [{ type: "text", text: "foreign" }] } });
        sendOn(stream, [{ jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "own" }] } }]);
        return true;
      },
    });
    expect(textOf(await call())).toBe("own");
  });
});
