import type { ServerResponse } from "node:http";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Features, FeatureRequest } from "../../../src/integrations/features.ts";
import type { Notification } from "../../../src/integrations/relay.ts";
import type { JsonObject } from "../../../src/json.ts";
import { startEverythingServer as startSdkServer, type UpstreamRevision } from "../../conformance/everything-server.ts";
import { INITIALIZED, json, result, status, stream, type Script } from "./scripted-upstream.ts";
import { createSubject, patient, target, textOf, tool, upstream } from "./support.ts";

/** The handshake of a server that declares these capabilities. */
function declaring(capabilities: JsonObject): Script {
  return ({ message }, response) => {
    response.setHeader("mcp-session-id", "session-1");
    json(response, { jsonrpc: "2.0", id: message.id ?? null, result: { ...INITIALIZED, capabilities } });
  };
}

function featuresOf({ integration }: { integration: { features?: Features } }): Features {
  if (integration.features === undefined) throw new Error("no features");
  return integration.features;
}

const keys = (items: readonly { key: string }[]): string[] => items.map(({ key }) => key);

async function sdkServer(era: UpstreamRevision) {
  const server = await startSdkServer(era);
  const subject = createSubject([server.url]);
  onTestFinished(async () => {
    await subject.close();
    await server.close();
  });
  return { ...subject, connection: target(server.url), features: featuresOf(subject) };
}

describe.each(["legacy", "modern"] as const)("a server of the %s revision", (era) => {
  it("lists capabilities, resources, templates, prompts and skills", async () => {
    const { features, connection } = await sdkServer(era);
    const offer = await features.listFeatures(connection, patient());
    expect(offer.capabilities).toEqual({
      resources: true,
      subscribe: true,
      prompts: true,
      completions: true,
      logging: true,
      listChanged: true,
      extensions: { "io.modelcontextprotocol/skills": { directoryRead: true }, "io.modelcontextprotocol/tasks": {} },
    });
    expect(keys(offer.resources)).toContain("test://static-text");
    expect(keys(offer.resourceTemplates)).toEqual(["test://template/{id}/data"]);
    expect(keys(offer.prompts)).toContain("test_simple_prompt");
    expect(keys(offer.skills)).toEqual(["skill://pdf-processing/SKILL.md", "skill://acme/refunds/SKILL.md"]);
    expect(offer.bytes).toBeGreaterThan(100);
  });

  it("answers reads, prompts and completions without fields of its protocol revision", async () => {
    const { features, connection } = await sdkServer(era);
    const ask = async (question: FeatureRequest): Promise<JsonObject> => {
      const answer = await features.request(connection, question, patient());
      if (answer.kind !== "result") throw new Error(answer.kind);
      const answered = JSON.parse(answer.json) as JsonObject;
      expect(answered).not.toHaveProperty("resultType");
      expect(answered).not.toHaveProperty("ttlMs");
      return answered;
    };
    const uri = "test://static-text";
    expect(await ask({ method: "resources/read", uri })).toMatchObject({ contents: [{ uri }] });
    const prompt = await ask({ method: "prompts/get", name: "test_simple_prompt", args: undefined });
    expect(prompt.messages).toHaveLength(1);
    const ref = { type: "ref/prompt", name: "test_prompt_with_arguments" };
    const completion = await ask({
      method: "completion/complete",
      params: { ref, argument: { name: "arg1", value: "par" } },
    });
    expect(completion).toMatchObject({ completion: { values: ["paris", "park", "party"] } });
  });

  it("passes the server's error message and code unchanged", async () => {
    const { features, connection } = await sdkServer(era);
    const unknown = await features.request(connection, { method: "resources/read", uri: "test://nowhere" }, patient());
    expect(unknown).toMatchObject({ kind: "error", code: -32602, data: { uri: "test://nowhere" } });
    const prompt = { method: "prompts/get", name: "nobody", args: undefined } as const;
    expect(await features.request(connection, prompt, patient())).toMatchObject({
      kind: "error",
      code: -32602,
      message: expect.stringContaining("Unknown prompt: nobody") as string,
    });
  });

  it("relays progress if requested, and log messages from the requested level", async () => {
    const { integration, connection } = await sdkServer(era);
    const progress: JsonObject[] = [];
    const messages: Notification[] = [];
    const options = {
      ...patient(),
      onProgress: (one: JsonObject) => void progress.push(one),
      onMessage: (one: Notification) => void messages.push(one),
    };
    await integration.callTool(connection, tool("test_tool_with_progress"), {}, options);
    expect(progress.map((one) => one.progress)).toEqual([0, 50, 100]);
    expect(progress[0]).not.toHaveProperty("progressToken");
    const logging = tool("test_tool_with_logging");
    await integration.callTool(connection, logging, {}, { ...options, logLevel: "info" });
    expect(messages.map(({ params }) => params.data)).toHaveLength(3);
    await integration.callTool(connection, logging, {}, { ...options, logLevel: "error" });
    expect(messages).toHaveLength(3);
  });
});

describe("the feature listing of a server", () => {
  it("is read page by page, without items that clients would reject", async () => {
    const pages: Record<string, JsonObject> = {
      "": {
        resources: [
          { uri: "a://1", name: "one", size: "big", title: 7, annotations: { priority: 1 } },
          { name: "no URI" },
        ],
        nextCursor: "2",
      },
      "2": { resources: [{ uri: "a://2", mimeType: "text/plain" }, { uri: "a://1" }, { uri: "relative" }, "text"] },
    };
    const subject = await upstream({
      initialize: declaring({ resources: {} }),
      "resources/list": ({ message }, response) => {
        const cursor = (message.params as { cursor?: string }).cursor ?? "";
        json(response, { jsonrpc: "2.0", id: message.id, result: pages[cursor] });
      },
      "resources/templates/list": ({ message }, response) =>
        json(response, { jsonrpc: "2.0", id: message.id, error: { code: -32601, message: "Method not found" } }),
    });
    const offer = await featuresOf(subject).listFeatures(target(subject.server.url), patient());
    expect(offer.resources.map((item) => item.json)).toEqual([
      '{"uri":"a://1","name":"one","annotations":{"priority":1}}',
      '{"uri":"a://2","mimeType":"text/plain","name":"a://2"}',
    ]);
    expect(offer.resourceTemplates).toEqual([]);
    expect(offer.capabilities).toMatchObject({ resources: true, subscribe: false, prompts: false });
  });

  it("is not requested from a server that declares no features", async () => {
    const subject = await upstream({ initialize: declaring({ tools: {} }) });
    const offer = await featuresOf(subject).listFeatures(target(subject.server.url), patient());
    expect(offer).toMatchObject({ resources: [], resourceTemplates: [], prompts: [], bytes: 0 });
    expect(subject.server.of("resources/list")).toHaveLength(0);
    expect(subject.server.of("prompts/list")).toHaveLength(0);
  });

  it("is unavailable while the server is down, naming the host", async () => {
    const subject = await upstream({ initialize: status(500) });
    const { host } = new URL(subject.server.url);
    await expect(featuresOf(subject).listFeatures(target(subject.server.url), patient())).rejects.toMatchObject({
      kind: "unavailable",
      message: expect.stringContaining(host) as string,
    });
  });
});

describe("a feature request", () => {
  const read: FeatureRequest = { method: "resources/read", uri: "a://1" };

  it("is repeated when the upstream has lost the session", async () => {
    let reads = 0;
    const subject = await upstream({
      "resources/read": (request, response) => {
        reads += 1;
        if (reads === 1) response.writeHead(404).end();
        else result({ contents: [] })(request, response);
      },
    });
    const answer = await featuresOf(subject).request(target(subject.server.url), read, patient());
    expect(answer).toEqual({ kind: "result", json: '{"contents":[]}', ttlMs: undefined });
    expect(subject.server.of("initialize")).toHaveLength(2);
  });

  it("answered with input_required returns a clear error", async () => {
    const subject = await upstream({ "prompts/get": result({ resultType: "input_required", inputRequests: {} }) });
    const question: FeatureRequest = { method: "prompts/get", name: "p", args: {} };
    expect(await featuresOf(subject).request(target(subject.server.url), question, patient())).toMatchObject({
      kind: "error",
      code: -32603,
      message: expect.stringMatching(/cannot answer such requests/) as string,
    });
  });

  it("never returns the connection's key, not even in an error's data", async () => {
    const error = { code: -32000, message: "no key-123456", data: { sent: ["Bearer key-123456"] } };
    const subject = await upstream({
      "resources/read": ({ message }, response) => json(response, { jsonrpc: "2.0", id: message.id, error }),
    });
    const connection = target(subject.server.url, { api_token: "key-123456" });
    const answer = await featuresOf(subject).request(connection, read, patient());
    expect(answer).toMatchObject({ kind: "error", code: -32000 });
    expect(JSON.stringify(answer)).not.toContain("key-123456");
  });

  it("is canceled upstream when its caller aborts", async () => {
    const subject = await upstream({ "resources/read": () => undefined });
    const controller = new AbortController();
    const asked = featuresOf(subject).request(target(subject.server.url), read, { signal: controller.signal });
    asked.catch(() => undefined);
    await subject.server.until("resources/read");
    controller.abort(new Error("gone"));
    await expect(asked).rejects.toThrow("gone");
    await subject.server.until("notifications/cancelled");
  });
});

describe("notifications during a request", () => {
  it("arrive in order and before the answer, even with a slow listener", async () => {
    const subject = await upstream({
      "tools/call": ({ message }, response) => {
        const { send } = stream(response);
        const token = (message.params as { _meta: { progressToken: number } })._meta.progressToken;
        for (const progress of [1, 2, 3]) {
          send({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: token, progress } });
        }
        send({ jsonrpc: "2.0", id: message.id, result: { content: [{ type: "text", text: "done" }] } });
        response.end();
      },
    });
    const events: string[] = [];
    const onProgress = async ({ progress }: JsonObject): Promise<void> => {
      events.push(`begin ${String(progress)}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
      events.push(`end ${String(progress)}`);
    };
    const options = { ...patient(), onProgress };
    const answer = await subject.integration.callTool(target(subject.server.url), tool("work"), {}, options);
    expect(textOf(answer)).toBe("done");
    expect(events).toEqual(["begin 1", "end 1", "begin 2", "end 2", "begin 3", "end 3"]);
  });

  it("exclude the progress of other requests", async () => {
    const subject = await upstream({
      "tools/call": ({ message }, response) => {
        const { send } = stream(response);
        send({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: "other", progress: 1 } });
        send({ jsonrpc: "2.0", id: message.id, result: { content: [] } });
        response.end();
      },
    });
    const heard: JsonObject[] = [];
    const options = { ...patient(), onProgress: (one: JsonObject) => void heard.push(one) };
    await subject.integration.callTool(target(subject.server.url), tool("work"), {}, options);
    expect(heard).toEqual([]);
  });

  it("name the list that has changed", async () => {
    const subject = await upstream({
      "tools/call": ({ message }, response) => {
        const { send } = stream(response);
        send({ jsonrpc: "2.0", method: "notifications/prompts/list_changed" });
        send({ jsonrpc: "2.0", id: message.id, result: { content: [] } });
        response.end();
      },
    });
    const connection = target(subject.server.url);
    const news: unknown[] = [];
    subject.integration.onNotification?.((connectionId, one) => news.push([connectionId, one]));
    await subject.integration.callTool(connection, tool("work"), {}, patient());
    expect(news).toEqual([[connection.connectionId, { kind: "list_changed", list: "prompts" }]]);
  });

  it("set the log level once, and again only for a lower level", async () => {
    const subject = await upstream({ initialize: declaring({ logging: {} }), "logging/setLevel": result({}) });
    const connection = target(subject.server.url);
    const at = (logLevel: "debug" | "info" | "error") =>
      subject.integration.callTool(
        connection,
        tool("work"),
        {},
        { ...patient(), onMessage: () => undefined, logLevel },
      );
    await at("info");
    await at("error");
    await at("info");
    await at("debug");
    const levels = subject.server.of("logging/setLevel").map(({ message }) => (message.params as JsonObject).level);
    expect(levels).toEqual(["info", "debug"]);
  });
});

describe("watching resources", () => {
  const updates: Record<string, Script> = {
    initialize: declaring({ resources: { subscribe: true } }),
    "resources/subscribe": result({}),
    "resources/unsubscribe": result({}),
  };
  const updated = (uri: string) => ({ jsonrpc: "2.0", method: "notifications/resources/updated", params: { uri } });
  const sessionsOf = ({ server }: Awaited<ReturnType<typeof upstream>>, method: string) =>
    server.of(method).map(({ headers }) => headers["mcp-session-id"]);

  it("subscribes in the session of the calls, and unsubscribes when nobody watches", async () => {
    const streams: ((message: JsonObject) => void)[] = [];
    const subject = await upstream({ ...updates, GET: (_request, response) => streams.push(stream(response).send) });
    const connection = target(subject.server.url);
    const features = featuresOf(subject);
    await subject.integration.callTool(connection, tool("work"), {}, patient());
    const heard: string[] = [];
    const first = features.watchResources(connection, ["a://1"], undefined, (uri) => heard.push(uri));
    const second = features.watchResources(connection, ["a://1", "a://2"], undefined, (uri) => heard.push(uri));
    await Promise.all([first.settled, second.settled]);
    const subscribed = subject.server.of("resources/subscribe").map(({ message }) => message.params);
    expect(subscribed).toEqual([{ uri: "a://1" }, { uri: "a://2" }]);
    expect(new Set(sessionsOf(subject, "resources/subscribe"))).toEqual(new Set(sessionsOf(subject, "tools/call")));
    expect(streams).toHaveLength(1);
    streams[0]?.(updated("a://1"));
    await expect.poll(() => heard).toEqual(["a://1", "a://1"]);
    second.stop();
    await subject.server.until("resources/unsubscribe");
    first.stop();
    await expect.poll(() => subject.server.of("resources/unsubscribe")).toHaveLength(2);
    const ended = subject.server.of("resources/unsubscribe").map(({ message }) => message.params);
    expect(ended).toEqual([{ uri: "a://2" }, { uri: "a://1" }]);
    expect(subject.server.of("initialize")).toHaveLength(1);
  });

  it("subscribes again when the server has lost the session", async () => {
    let isLost = false;
    const subject = await upstream({
      ...updates,
      "tools/call": (request, response) => {
        if (isLost && subject.server.of("initialize").length === 1) response.writeHead(404).end();
        else result({ content: [] })(request, response);
      },
    });
    const connection = target(subject.server.url);
    const watch = featuresOf(subject).watchResources(connection, ["a://1"], undefined, () => undefined);
    onTestFinished(() => watch.stop());
    await watch.settled;
    isLost = true;
    await subject.integration.callTool(connection, tool("work"), {}, patient());
    await expect.poll(() => subject.server.of("resources/subscribe"), { timeout: 10_000 }).toHaveLength(2);
    expect(subject.server.of("initialize")).toHaveLength(2);
  });

  it("reopens the stream of a client's own session after the server has closed it", async () => {
    const streams: ServerResponse[] = [];
    const subject = await upstream({
      ...updates,
      GET: (_request, response) => {
        streams.push(response);
        const { send } = stream(response);
        if (streams.length === 2) send(updated("a://1"));
      },
    });
    const client = { capabilities: { elicitation: {} }, audience: "one" };
    const heard: string[] = [];
    const connection = target(subject.server.url);
    const watch = featuresOf(subject).watchResources(connection, ["a://1"], client, (uri) => heard.push(uri));
    onTestFinished(() => watch.stop());
    await watch.settled;
    streams[0]?.end();
    await expect.poll(() => heard, { timeout: 5_000 }).toEqual(["a://1"]);
    expect(subject.server.of("initialize")).toHaveLength(1);
  });

  it("reports a change that arrives in the answer of a call, and skips a resource that the server refuses", async () => {
    const subject = await upstream({
      ...updates,
      "resources/subscribe": (request, response) => {
        const { id, params } = request.message;
        if ((params as JsonObject).uri !== "a://gone") result({})(request, response);
        else json(response, { jsonrpc: "2.0", id: id ?? null, error: { code: -32_002, message: "Unknown" } });
      },
      "tools/call": (request, response) => {
        const { send } = stream(response);
        send(updated("a://1"));
        send({ jsonrpc: "2.0", id: request.message.id ?? null, result: { content: [] } });
        response.end();
      },
    });
    const connection = target(subject.server.url);
    const heard: string[] = [];
    const uris = ["a://gone", "a://1"];
    const watch = featuresOf(subject).watchResources(connection, uris, undefined, (uri) => heard.push(uri));
    onTestFinished(() => watch.stop());
    await watch.settled;
    await subject.integration.callTool(connection, tool("work"), {}, patient());
    expect(heard).toEqual(["a://1"]);
  });
});
