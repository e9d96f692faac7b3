import { describe, expect, it } from "vitest";
import { json, result, status, wellBehaved, type Script } from "./scripted-upstream.ts";
import { call, patient, target, textOf, tool, upstream } from "./support.ts";

describe("the requests to the upstream", () => {
  it("carry the key, the configured headers, the session and the protocol version", async () => {
    const subject = await upstream({});
    await call(subject, { api_token: "key-1", headers: { "X-Tenant": "t 1" } });
    expect(subject.server.of("initialize")[0]?.headers).not.toHaveProperty("mcp-protocol-version");
    expect(subject.server.of("tools/call")[0]?.headers).toMatchObject({
      authorization: "Bearer key-1",
      "x-tenant": "t 1",
      "mcp-session-id": "session-1",
      "mcp-protocol-version": "2025-11-25",
      accept: "application/json, text/event-stream",
      "accept-encoding": "identity",
      "content-type": "application/json",
    });
  });

  it("start with one handshake for concurrent calls, and send notifications/initialized before the calls", async () => {
    const subject = await upstream({});
    const connection = target(subject.server.url);
    await Promise.all(
      Array.from({ length: 10 }, () => subject.integration.callTool(connection, tool("work"), {}, patient())),
    );
    const methods = subject.server.received.map(({ message }) => message.method);
    expect(methods.slice(0, 3)).toEqual(["server/discover", "initialize", "notifications/initialized"]);
    expect(methods.filter((method) => method === "initialize")).toHaveLength(1);
  });

  it.each(["2025-06-18", "2025-03-26", "2024-11-05"])(
    "carry the revision that the server chose (%s), and no session if the server has none",
    async (protocolVersion) => {
      const subject = await upstream({ initialize: result({ protocolVersion, capabilities: {} }) });
      expect(textOf(await call(subject))).toBe("done");
      const headers = subject.server.of("tools/call")[0]?.headers;
      expect(headers?.["mcp-protocol-version"]).toBe(protocolVersion);
      expect(headers).not.toHaveProperty("mcp-session-id");
    },
  );

  it("include a new handshake after a key change, and a DELETE of the old session", async () => {
    const subject = await upstream({});
    const before = target(subject.server.url, { api_token: "old" });
    await subject.integration.callTool(before, tool("work"), {}, patient());
    const after = { ...before, keyVersion: 2, configuration: { ...before.configuration, api_token: "new" } };
    await subject.integration.callTool(after, tool("work"), {}, patient());
    expect(subject.server.of("initialize").map(({ headers }) => headers.authorization)).toEqual([
      "Bearer old",
      "Bearer new",
    ]);
    await subject.server.until("DELETE");
    expect(subject.server.of("DELETE")[0]?.headers).toMatchObject({
      authorization: "Bearer old",
      "mcp-session-id": "session-1",
    });
  });

  it("include a DELETE of the session when the connection is deleted", async () => {
    const subject = await upstream({});
    const connection = target(subject.server.url);
    await subject.integration.callTool(connection, tool("work"), {}, patient());
    subject.integration.forget?.(connection.connectionId);
    await subject.server.until("DELETE");
  });
});

describe("a lost session", () => {
  const lost: readonly (readonly [string, Script])[] = [
    ["404", status(404)],
    [
      "400 that names the session",
      (_request, response) =>
        json(
          response,
          { jsonrpc: "2.0", error: { code: -32000, message: "Bad Request: No valid session ID provided" }, id: null },
          400,
        ),
    ],
    [
      "an error that names the session",
      ({ message }, response) =>
        json(response, { jsonrpc: "2.0", id: message.id, error: { code: -32001, message: "Session not found" } }),
    ],
  ];
  it.each(lost)("(%s) is reopened and the call repeated", async (_form, loss) => {
    let losses = 1;
    const subject = await upstream({
      "tools/call": (request, response) => {
        losses -= 1;
        (losses === 0 ? loss : wellBehaved)(request, response);
      },
    });
    expect(textOf(await call(subject))).toBe("done");
    expect(subject.server.of("initialize")).toHaveLength(2);
    expect(subject.server.of("tools/call")).toHaveLength(2);
  });

  it("is reopened at most once per call", async () => {
    const subject = await upstream({ "tools/call": status(404) });
    const answer = await call(subject);
    expect(answer.isError).toBe(true);
    expect(textOf(answer)).toMatch(/ended the session/);
    expect(subject.server.of("tools/call")).toHaveLength(2);
  });

  it("is reopened once for many concurrent calls", async () => {
    const ended = new Set<unknown>();
    let sessions = 0;
    const subject = await upstream({
      initialize: (request, response) => {
        sessions += 1;
        response.setHeader("mcp-session-id", `session-${sessions}`);
        result({ protocolVersion: "2025-11-25", capabilities: {} })(request, response);
      },
      "tools/call": (request, response) =>
        (ended.has(request.headers["mcp-session-id"]) ? status(404) : wellBehaved)(request, response),
    });
    const connection = target(subject.server.url);
    const once = () => subject.integration.callTool(connection, tool("work"), {}, patient());
    await once();
    ended.add("session-1");
    const answers = await Promise.all(Array.from({ length: 8 }, once));
    expect(answers.map(textOf)).toEqual(Array.from({ length: 8 }, () => "done"));
    expect(sessions).toBe(2);
  });
});

it("does not repeat a running call after its connection is deleted", async () => {
  let answer: (() => void) | undefined;
  const subject = await upstream({
    "tools/call": (request, response) => (answer = () => status(404)(request, response)),
  });
  const connection = target(subject.server.url);
  const pending = subject.integration.callTool(connection, tool("work"), {}, patient());
  await subject.server.until("tools/call");
  subject.integration.forget?.(connection.connectionId);
  answer?.();
  expect((await pending).isError).toBe(true);
  expect(subject.server.of("tools/call")).toHaveLength(1);
  expect(subject.server.of("initialize")).toHaveLength(1);
});

it("closes an idle session, and opens a new one for the next call", async () => {
  const subject = await upstream({}, { sessionIdleMs: 50 });
  const connection = target(subject.server.url);
  const work = () => subject.integration.callTool(connection, tool("work"), {}, patient());
  await work();
  await subject.server.until("DELETE");
  expect(textOf(await work())).toBe("done");
  expect(subject.server.of("initialize")).toHaveLength(2);
});

it("keeps the sessions of several calls that take longer than a session may be idle", async () => {
  const waiting: (() => void)[] = [];
  const subject = await upstream(
    {
      "tools/call": (request, response) => {
        const answer = (): void => wellBehaved(request, response);
        if (waiting.length < 2) waiting.push(answer);
        else answer();
      },
    },
    { sessionIdleMs: 50 },
  );
  const long = [call(subject), call(subject)];
  await subject.server.until("tools/call", 2);
  await call(subject);
  // The session of the third connection has expired, so idle sessions were searched for during both calls.
  await subject.server.until("DELETE");
  for (const answer of waiting) answer();
  expect((await Promise.all(long)).map(textOf)).toEqual(["done", "done"]);
  expect(subject.server.of("DELETE")).toHaveLength(1);
});

it("closes all sessions on shutdown", async () => {
  const subject = await upstream({});
  await Promise.all([call(subject), call(subject), call(subject)]);
  subject.integration.close();
  await subject.server.until("DELETE", 3);
});
