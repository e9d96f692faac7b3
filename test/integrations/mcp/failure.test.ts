import { afterEach, describe, expect, it } from "vitest";
import type { UpstreamFault } from "../../../src/integrations/tool.ts";
import { RpcError } from "../../../src/integrations/rpc-error.ts";
import { INITIALIZED, json, startScriptedUpstream, status, stream, type Script } from "./scripted-upstream.ts";
import { call, createSubject, patient, target, textOf, tool, upstream } from "./support.ts";

const CANARY = "canary-3f9a77";

/** Every kind of failure with its public message. */
const FAILURES: readonly (readonly [form: string, script: Script, said: RegExp])[] = [
  ["401", status(401), /refused the API key \(HTTP 401\).*new api_key/],
  ["403", status(403), /refused the API key \(HTTP 403\)/],
  ["405", status(405), /no MCP endpoint at this address \(HTTP 405\).*Check url/],
  ["429", status(429), /called too often/],
  ["400", status(400, "nope"), /refused the request \(HTTP 400\)/],
  ["500", status(500), /failed \(HTTP 500\).*Try again later/],
  ["503", status(503, "<html>"), /failed \(HTTP 503\)/],
  [
    "a redirect",
    status(307, "", { location: "https://elsewhere.example/mcp?token=x" }),
    /redirects elsewhere \(to https:\/\/elsewhere\.example\/mcp\).*not followed/,
  ],
  [
    "a page",
    status(200, "<html>hello</html>", { "content-type": "text/html; charset=utf-8" }),
    /does not speak MCP: it answered HTTP 200 with text\/html.*Check url/,
  ],
  ["nothing", status(200), /does not speak MCP: it answered HTTP 200 without content/],
  ["202 to a request", status(202), /does not speak MCP/],
  ["no JSON", status(200, "{", { "content-type": "application/json" }), /does not speak MCP/],
  ["JSON without end", status(200, "[".repeat(100_000), { "content-type": "application/json" }), /does not speak MCP/],
  [
    "JSON too deep",
    ({ message }, response) =>
      json(
        response,
        `{"jsonrpc":"2.0","id":${JSON.stringify(message.id)},"result":{"a":${"[".repeat(100)}${"]".repeat(100)}}}`,
      ),
    /does not speak MCP/,
  ],
  [
    "another id",
    (_request, response) => json(response, { jsonrpc: "2.0", id: "other", result: {} }),
    /does not speak MCP/,
  ],
  [
    "a malformed result",
    ({ message }, response) => json(response, { jsonrpc: "2.0", id: message.id, result: 7 }),
    /does not speak MCP/,
  ],
  [
    "a JSON-RPC error with 500",
    ({ message }, response) =>
      json(response, { jsonrpc: "2.0", id: message.id, error: { code: -32603, message: "Internal" } }, 500),
    /failed \(HTTP 500\): Internal/,
  ],
  ["compression", status(200, "x", { "content-type": "application/json", "content-encoding": "gzip" }), /compressed/],
  [
    "a stream without an answer",
    (_request, response) => {
      stream(response).send({ jsonrpc: "2.0", method: "notifications/message" });
      response.end();
    },
    /ended its answer before it was complete.*may have been carried out/,
  ],
  [
    "a reset",
    (_request, response) => void response.socket?.resetAndDestroy(),
    /broke the connection.*may have been carried out/,
  ],
  [
    "a truncated body",
    (_request, response) => {
      response.writeHead(200, { "content-type": "application/json", "content-length": "100" }).write("{");
      setTimeout(() => response.socket?.destroy(), 20);
    },
    /broke the connection/,
  ],
  ["no HTTP", (_request, response) => void response.socket?.end("SSH-2.0-OpenSSH\r\n"), /broke the connection/],
  ["5 GB", flood, /more than 5 MiB/],
  ["5 GB in one event", floodStream, /more than 5 MiB/],
];

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

describe("a failing upstream returns a result with a remedy", () => {
  it.each(FAILURES)("%s", async (_form, script, said) => {
    const subject = await upstream(
      { "tools/call": script },
      { timeoutMs: said.source.includes("in time") ? 300 : 20_000 },
    );
    const answer = await call(subject, { api_token: CANARY, headers: { "X-Key": `${CANARY}-2` } });
    expect(answer.isError).toBe(true);
    expect(answer.upstreamFault).toBeDefined();
    expect(answer.content).toHaveLength(1);
    expect(textOf(answer)).toMatch(said);
    expect(textOf(answer)).toContain(new URL(subject.server.url).host);
  });

  it.each<[number, UpstreamFault]>([
    [307, "other"],
    [400, "other"],
    [403, "refused_key"],
    [404, "other"],
    [429, "busy"],
    [500, "down"],
    [503, "down"],
  ])("%i is marked %s: a status below 500 is not an outage", async (code, fault) => {
    const subject = await upstream({ "tools/call": status(code) });
    expect((await call(subject)).upstreamFault).toBe(fault);
  });

  it("a 429 with a stated wait pauses the connection and rejects calls immediately", async () => {
    const subject = await upstream({ "tools/call": status(429, "", { "retry-after": "60" }) });
    const connection = target(subject.server.url);
    const ask = () => subject.integration.callTool(connection, tool("work"), {}, patient());
    const first = await ask();
    expect(textOf(first)).toMatch(/called too often \(HTTP 429\)\. Try again in 60 seconds\./);
    const second = await ask();
    expect(second.upstreamFault).toBe("held_back");
    expect(textOf(second)).toMatch(/Nothing was sent\. Try again in \d+ seconds, at /);
    expect(textOf(second)).toContain(new URL(subject.server.url).host);
    expect(subject.server.of("tools/call")).toHaveLength(1);
    expect((await call(subject)).upstreamFault).toBe("busy");
  });

  it.each([401, 403])("%i without a key asks the owner for a key", async (code) => {
    const subject = await upstream({ "tools/call": status(code) });
    expect(textOf(await call(subject))).toMatch(/asks for credentials.*api_key/);
  });

  it("404 from a server without sessions reports a wrong address, not a lost session", async () => {
    const subject = await upstream({ initialize: status(404) });
    expect(textOf(await call(subject))).toMatch(/no MCP endpoint at this address \(HTTP 404\)/);
    expect(subject.server.of("initialize")).toHaveLength(1);
  });

  it("names an unreachable host and an unknown host name", async () => {
    const gone = await startScriptedUpstream({});
    gone.close();
    const subject = createSubject([gone.url], undefined, (_name, _options, callback) =>
      callback(Object.assign(new Error("no such name"), { code: "ENOTFOUND" }), "", 0),
    );
    const ask = (url: string) => subject.integration.callTool(target(url), tool("work"), {}, patient());
    expect(textOf(await ask(gone.url))).toMatch(/cannot be reached: it refuses connections/);
    expect(textOf(await ask("https://does-not-exist.invalid/"))).toMatch(/cannot be reached: its name does not exist/);
    await subject.close();
  });

  it("names a host that the guard rejects, and the operator's remedy", async () => {
    const subject = createSubject([]);
    const answer = await subject.integration.callTool(
      target("https://169.254.169.254/mcp"),
      tool("work"),
      {},
      patient(),
    );
    expect(textOf(answer)).toMatch(
      /169\.254\.169\.254:443 are refused because it is a cloud metadata address.*OUTBOUND_ALLOW/,
    );
    await subject.close();
  });

  it("names an unknown protocol revision", async () => {
    const subject = await upstream({
      initialize: ({ message }, response) =>
        json(response, { jsonrpc: "2.0", id: message.id, result: { protocolVersion: "1999-01-01" } }),
    });
    expect(textOf(await call(subject))).toMatch(/offers no protocol revision.*1999-01-01/);
  });
});

describe("a JSON-RPC error", () => {
  it.each([200, 400, 404])("keeps its code, message and data at HTTP %d", async (httpStatus) => {
    const said = { code: -32602, message: `Unknown tool: ${"work ".repeat(1_000)}`, data: { b: [1], a: null } };
    const subject = await upstream({
      initialize: ({ message }, response) => json(response, { jsonrpc: "2.0", id: message.id, result: INITIALIZED }),
      "tools/call": ({ message }, response) =>
        json(response, { jsonrpc: "2.0", id: message.id, error: said }, httpStatus),
    });
    const { code, message, data, explanation } = await rpcErrorOf(call(subject));
    expect({ code, message, data }).toEqual(said);
    expect(explanation).toMatch(/answered with an error \(-32602\): Unknown tool: work/);
  });

  it("without an id is the answer to the call", async () => {
    const subject = await upstream({
      "tools/call": (_request, response) =>
        json(response, { jsonrpc: "2.0", id: null, error: { code: -32700, message: "Parse error" } }),
    });
    expect(await rpcErrorOf(call(subject))).toMatchObject({ code: -32700, message: "Parse error" });
  });

  it("in the handshake is a fault of the server, not the answer to the call", async () => {
    const subject = await upstream({
      initialize: ({ message }, response) =>
        json(response, { jsonrpc: "2.0", id: message.id, error: { code: -32603, message: "no" } }),
    });
    expect(await call(subject)).toMatchObject({ isError: true });
  });
});

describe("a secret", () => {
  it("in an upstream error is redacted in the result and the log", async () => {
    const subject = await upstream({
      "tools/call": ({ message, headers }, response) =>
        json(response, {
          jsonrpc: "2.0",
          id: message.id,
          error: { code: -32000, message: `bad ${headers.authorization} and ${String(headers["x-key"])}` },
        }),
    });
    const error = await rpcErrorOf(call(subject, { api_token: CANARY, headers: { "X-Key": `${CANARY}-2` } }));
    expect(error.message).toBe("bad Bearer [redacted] and [redacted]");
    expect(error.explanation + subject.logged()).not.toContain(CANARY);
  });
});

it("memory stays bounded while an upstream sends endless data", async () => {
  const subject = await upstream({ "tools/call": flood }, { timeoutMs: 10_000 });
  const before = process.memoryUsage().arrayBuffers;
  await Promise.all(Array.from({ length: 4 }, () => call(subject)));
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(200 * 1024 * 1024);
});

async function rpcErrorOf(answer: Promise<unknown>): Promise<RpcError> {
  const error: unknown = await answer.catch((thrown: unknown) => thrown);
  if (!(error instanceof RpcError)) throw new Error("the call did not fail with an RpcError", { cause: error });
  return error;
}

function flood(_request: Parameters<Script>[0], response: Parameters<Script>[1]): void {
  response.writeHead(200, { "content-type": "application/json", "content-length": String(5 * 1024 ** 3) });
  pour(response);
}

function floodStream(_request: Parameters<Script>[0], response: Parameters<Script>[1]): void {
  response.writeHead(200, { "content-type": "text/event-stream" }).write("data: ");
  pour(response);
}

function pour(response: Parameters<Script>[1]): void {
  const block = Buffer.alloc(256 * 1024, "x");
  const more = (): void => {
    while (!response.destroyed && response.write(block));
  };
  response.on("drain", more);
  more();
}
