import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Principal } from "../../../src/identity/principal.ts";
import type { Connection } from "../../../src/connections/connection.ts";
import type { CallResult } from "../../../src/integrations/tool.ts";
import { createSubject as createMcpSubject } from "../../integrations/mcp/support.ts";
import { result, startScriptedUpstream, type ScriptedUpstream } from "../../integrations/mcp/scripted-upstream.ts";
import { CONTRACT, LIMITS } from "../../integrations/openapi/upstream.ts";
import { createSubject as createContractSubject } from "../../integrations/openapi/subject.ts";
import { createWorld, eventually, principal, textOf, type World } from "../world.ts";

/** A failure of an upstream, with the error of an HTTP API and of an MCP server. */
interface Breakage {
  readonly name: string;
  readonly behave: (response: ServerResponse) => void;
  readonly says: Readonly<Record<Face, RegExp>>;
  /** Whether the call would never end. */
  readonly isEndless?: true;
  /** The kind of upstream for which the response is a valid result. */
  readonly isAnswer?: Face;
}

type Face = "contract" | "mcp";
const FACES: readonly Face[] = ["contract", "mcp"];

const alike = (said: RegExp): Breakage["says"] => ({ contract: said, mcp: said });
const JSON_TYPE = { "content-type": "application/json" };

const BREAKAGES: readonly Breakage[] = [
  { name: "hangs", behave: () => undefined, says: alike(/did not answer within 3 seconds/), isEndless: true },
  {
    name: "drips a byte now and then",
    behave: (response) => {
      response.writeHead(200, JSON_TYPE);
      const timer = setInterval(() => response.write(" "), 100);
      response.on("close", () => clearInterval(timer));
    },
    says: alike(/did not answer within 3 seconds/),
    isEndless: true,
  },
  {
    name: "resets midway",
    behave: (response) => {
      response.writeHead(200, { ...JSON_TYPE, "content-length": "100" }).write('{"a":');
      setTimeout(() => response.socket?.resetAndDestroy(), 20);
    },
    says: { contract: /broke|reset|cut|closed/, mcp: /broke the connection/ },
  },
  {
    name: "answers five gigabytes",
    behave: (response) => {
      response.writeHead(200, { ...JSON_TYPE, "content-length": String(5 * 1024 ** 3) });
      const block = Buffer.alloc(64 * 1024, "x");
      const pour = (): void => {
        while (!response.destroyed && response.write(block));
      };
      response.on("drain", pour);
      pour();
    },
    says: { contract: /larger than/, mcp: /more than 5 MiB/ },
  },
  {
    name: "answers bad JSON",
    behave: (response) => response.writeHead(200, JSON_TYPE).end('{"a": [1, 2'),
    says: { contract: /It begins: \{"a": \[1, 2/, mcp: /does not speak MCP/ },
  },
  {
    name: "answers with another content type",
    behave: (response) => response.writeHead(200, { "content-type": "text/html" }).end("<h1>Log in</h1>"),
    says: { contract: /<h1>Log in<\/h1>/, mcp: /does not speak MCP: it answered HTTP 200 with text\/html/ },
    isAnswer: "contract",
  },
  {
    name: "sends a gzip bomb",
    behave: (response) => response.writeHead(200, { ...JSON_TYPE, "content-encoding": "gzip" }).end(BOMB),
    says: { contract: /larger than/, mcp: /compressed/ },
  },
  {
    name: "says 429 with Retry-After",
    behave: (response) => response.writeHead(429, { ...JSON_TYPE, "retry-after": "17" }).end("{}"),
    says: alike(/\b\d+ seconds|HTTP 429/),
  },
  {
    name: "says 429 without it",
    behave: (response) => response.writeHead(429, JSON_TYPE).end("{}"),
    says: { contract: /wait a minute/, mcp: /HTTP 429|too many/i },
  },
  {
    name: "refuses the key midway with 401",
    behave: (response) => response.writeHead(401, JSON_TYPE).end("{}"),
    says: { contract: /answered 401/, mcp: /401|credentials|key/ },
  },
];

const BOMB = gzipSync(Buffer.alloc(50_000_000, 0x20));
const TOOL: Readonly<Record<Face, string>> = { contract: "list", mcp: "work" };

let world: World;
let me: Principal;
let session: string;
let behave: Breakage["behave"] = (response) => response.writeHead(200, JSON_TYPE).end("{}");
const servers: { close(): void }[] = [];
const subjects: { close(): Promise<void> }[] = [];
let brokenMcp: ScriptedUpstream;
let wellMcp: ScriptedUpstream;
let gone: ScriptedUpstream;
let well: readonly Connection[];

const list = result({ tools: [{ name: "work", inputSchema: { type: "object" } }] });

beforeAll(async () => {
  const vendor = createServer((_request, response) => {
    response.on("error", () => undefined);
    behave(response);
  }).listen(0, "127.0.0.1");
  await once(vendor, "listening");
  servers.push({ close: () => (vendor.closeAllConnections(), vendor.close()) });
  brokenMcp = await startScriptedUpstream({
    "tools/list": list,
    "tools/call": (_request, response) => behave(response),
  });
  wellMcp = await startScriptedUpstream({ "tools/list": list });
  gone = await startScriptedUpstream({ "tools/list": list });
  servers.push(brokenMcp, wellMcp);
  const contract = createContractSubject(
    CONTRACT.replace("server_type: acme", "server_type: vendor"),
    `http://127.0.0.1:${(vendor.address() as AddressInfo).port}`,
    { limits: LIMITS },
  );
  const mcp = createMcpSubject([brokenMcp.url, wellMcp.url, gone.url]);
  subjects.push(contract, mcp);
  world = await createWorld({ integrations: [contract.integration, mcp.integration], times: { idleMs: 3_000 } });
  const account = await world.createAccount();
  me = principal(account);
  well = [await world.connect(account, ["get_thing"]), await world.connectTo("mcp", account, { url: wellMcp.url })];
  session = await world.open(me);
  await world.names(me, session);
});
afterAll(async () => {
  await world?.close();
  for (const subject of subjects) await subject.close();
  for (const server of servers) server.close();
});

const callTool = (name: string): Promise<CallResult> => world.runtime.callTool(me, session, name, {}, {});

/** Waits until the session lists the connection's tool, bare or qualified. */
async function isListed({ alias }: Connection, tool: string): Promise<void> {
  await eventually(async () =>
    (await world.names(me, session)).some((name) => [tool, `${alias}__${tool}`].includes(name)),
  );
}

/** Calls a tool of each working connection. */
async function callTheOthers(): Promise<void> {
  for (const connection of well) {
    const name = connection.serverType === "mcp" ? "work" : "get_thing";
    const texts = await Promise.all(
      Array.from({ length: 10 }, async () => textOf(await callTool(`${name}__${connection.id}`))),
    );
    expect(new Set(texts).size).toBe(1);
    expect(texts[0]).not.toMatch(/^error/);
  }
}

describe.each(FACES)("a broken upstream of a %s connection", (face) => {
  test.each(BREAKAGES)(
    "that $name causes a clear error result, while calls of other connections succeed",
    async (breakage) => {
      ({ behave } = breakage);
      const broken = await world.connectTo(
        face === "mcp" ? "mcp" : "vendor",
        me.accountId,
        face === "mcp" ? { url: brokenMcp.url } : {},
      );
      const name = `${TOOL[face]}__${broken.id}`;
      await isListed(broken, TOOL[face]);
      let isOver = false;
      const calls = Array.from({ length: 3 }, () => callTool(name));
      const over = Promise.all(calls).finally(() => (isOver = true));
      await callTheOthers();
      if (breakage.isEndless === true) expect(isOver).toBe(false);
      for (const answer of await over) {
        expect(textOf(answer)).toMatch(breakage.says[face]);
        expect(answer.isError).toBe(breakage.isAnswer !== face);
      }
      await callTheOthers();
      expect(world.refusedKeys.filter((id) => well.some((one) => one.id === id))).toEqual([]);
      expect(world.refusedKeys.includes(broken.id)).toBe(breakage.name.includes("401"));
      await world.history.flush();
      const { rows } = await world.pool.query<{ outcome: string }>(
        "select distinct outcome from call_record where connection_id = $1",
        [broken.id],
      );
      const outcomes = rows.map(({ outcome }) => outcome);
      if (breakage.isAnswer === face) expect(outcomes).toEqual(["ok"]);
      else expect(outcomes).toContain("upstream_error");
      // A rate-limited connection refuses further calls without sending them.
      expect(["ok", "upstream_error", "refused"]).toEqual(expect.arrayContaining(outcomes));
      if (breakage.name !== "says 429 with Retry-After") expect(outcomes).toHaveLength(1);
    },
  );
});

test("returns a clear error result for an upstream that refuses TCP connections, while other connections work", async () => {
  const broken = await world.connectTo("mcp", me.accountId, { url: gone.url });
  await isListed(broken, "work");
  gone.close();
  expect(textOf(await callTool(`work__${broken.id}`))).toMatch(/^error: .*(cannot be reached|broke the connection)/);
  expect(textOf(await callTool(`work__${broken.id}`))).toMatch(/^error: .*cannot be reached: it refuses connections/);
  await callTheOthers();
});

test("opens the circuit of the failing connection only", async () => {
  behave = (response) => response.writeHead(503, JSON_TYPE).end("{}");
  const [broken, other] = [
    await world.connectTo("mcp", me.accountId, { url: brokenMcp.url }),
    await world.connectTo("mcp", me.accountId, { url: wellMcp.url }),
  ];
  await isListed(other, "work");
  await eventually(async () => textOf(await callTool(`work__${broken.id}`)).includes("is paused because"));
  expect(textOf(await callTool(`work__${other.id}`))).toBe("done");
  await callTheOthers();
});
