import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { membersOf, elementsOf, memberOf } from "../../src/json-text.ts";
import type { JsonObject } from "../../src/json.ts";
import { createWire, modernHeaders, modernMeta, type Wire } from "../support/mcp-wire.ts";
import { startVerbatimUpstream, type Script, type VerbatimUpstream } from "../support/verbatim-upstream.ts";
import { createMcpWorld, type McpWorld } from "../transport/mcp/world.ts";

/**
 * Compares the responses of upstreams with those that clients receive, as text. Allowed differences: qualified names
 * and URIs at `/mcp`, descriptions of ambiguous tools there, and the fields of the client's protocol revision.
 */

const APP = "ui://clock/app.html";
const NOTE = "note://all/1";
const PAGE = "https://example.com/page";
const TEMPLATE = "note://all/{id}";
const SKILL = "skill://acme/refunds/";
const CSP = `{"csp":{"connectDomains":["https://api.example.com"],"b":[]},"permissions":{"camera":{}},"prefersBorder":false}`;

const TOOLS = [
  String.raw`{ "title":"\u00e9\/", "name":"zebra","description" : "Says \"hi\"",
    "inputSchema":{"type":"object","properties":{"2":{"type":"number","default":1.0},"1":{},"b":{},"a":{}},"x":1e2},
    "execution":{"taskSupport":"optional"},"annotations":{"title":"t","readOnlyHint":true,"openWorldHint":false},
    "icons":[{"src":"https://example.com/i.png","sizes":["any"]}],"_meta":{"b":1,"a":-0.50},"vendor":{"z":null,"y":[ ],"x":"\u0000\ud800"} }`,
  `{"name":"bare","inputSchema":{"type":"object"}}`,
  `{"inputSchema":{"type":"object"},"_meta":{"ui":{"resourceUri":"${APP}","visibility":["model","app"]},"ui/resourceUri":"${APP}"},"name":"app"}`,
  `{"inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"n":{"type":"number"}}},"name":"typed"}`,
];
/** Allowed only since 2026-07-28. */
const LIST_SCHEMA = `"outputSchema":{"type":"array","items":{"type":"number"}},`;
const LIST_TOOL = `{"inputSchema":{"type":"object"},${LIST_SCHEMA}"name":"numbers"}`;
const NUMBERS = `{"content":[],"structuredContent":[1.0,{"b":1,"a":12345678901234567890}]}`;
const RESOURCES = [
  `{"uri":"${APP}","name":"Clock","mimeType":"text/html;profile=mcp-app","_meta":{"ui":${CSP}},"own":1.0}`,
  `{"name":"Note","size":12,"uri":"${NOTE}","annotations":{"priority":1.0,"audience":["user"]},"icons":[]}`,
];
const TEMPLATES = [`{"uriTemplate":"${TEMPLATE}","description":"","name":"Notes","own":{"b":1,"a":2}}`];
const DIGEST = `sha256:${"0a".repeat(32)}`;
const SKILLS = [
  String.raw`{ "resources":[ {"size":12,"own":1.0,"uri":"${SKILL}SKILL.md","digest":"${DIGEST}"} ,
    {"uri":"${SKILL}examples/caf%C3%A9.md","digest":"${DIGEST}","size":0}],"own":{"uri":"${SKILL}SKILL.md","2":1E+2,"1":[ ]},
    "frontmatter":{"name":"refunds","license":"","description":"\u00e9\/","2":1.0,"1":null,"uri":"${SKILL}"},"_meta":{"b":1,"a":-0.50},"uri":"${SKILL}SKILL.md"}`,
  `{"uri":"git://repo/skills/daily/SKILL.md","frontmatter":{"name":"daily","description":"d"},"resources":"dynamic"}`,
];
/** Entries for which a host would reject the list. */
const BROKEN_SKILLS = [
  `{"uri":"skill://other/SKILL.md","frontmatter":{"name":"refunds","description":"d"},"resources":"dynamic"}`,
  `{"uri":"skill://nameless/SKILL.md","frontmatter":{"name":"nameless"},"resources":"dynamic"}`,
  `{"uri":"skill://fileless/SKILL.md","frontmatter":{"name":"fileless","description":"d"}}`,
  `{"uri":"skill://outside/SKILL.md","frontmatter":{"name":"outside","description":"d"},"resources":[{"uri":"skill://other/SKILL.md","digest":"${DIGEST}","size":1}]}`,
  `{"uri":"skill://sizeless/SKILL.md","frontmatter":{"name":"sizeless","description":"d"},"resources":[{"uri":"skill://sizeless/SKILL.md","digest":"${DIGEST}"}]}`,
  `{"uri":"skill://README.md","frontmatter":{"name":"readme","description":"d"},"resources":"dynamic"}`,
  `{"uri":7}`,
  `null`,
];
const DIRECTORY = `{"resources":[{"name":"examples","uri":"${SKILL}examples","mimeType":"inode/directory","size":1.0}],"nextCursor":"a/b=","own":1.0}`;
const PROMPTS = [`{"name":"greet","arguments":[{"name":"who","required":false,"own":1}],"own":{"2":0,"1":0}}`];

const CALLS: Readonly<Record<string, string>> = {
  zebra: `{ "isError":false,"content":[{"type":"text","text":"caf\\u00e9","own":{"2":1.0,"1":1E+2}} , {"type":"hologram","depth":[ ]}],"own":null }`,
  bare: `{"content":[]}`,
  typed: `{"structuredContent":{"n":1.0,"2":0,"1":12345678901234567890},"content":[{"type":"text","text":"{}"}],"_meta":{"b":1,"a":2}}`,
  app: `{"content":[{"type":"resource_link","uri":"${NOTE}","name":"Note"},{"type":"resource_link","name":"Page","uri":"${PAGE}"},{"type":"resource","resource":{"text":"x","uri":"${NOTE}"}}],"_meta":{"ui":{"resourceUri":"${APP}"}}}`,
};
const PROMPT = `{"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"${NOTE}","text":"1.0"}},"own":1.0}],"description":""}`;
const COMPLETION = `{"completion":{"values":["a"],"total":1.0,"hasMore":false,"own":1}}`;
const ERROR = `{"code":-32050,"message":"no \\"such\\" thing","data":{"b":1,"a":[null]}}`;
const SERVER_INFO = `{"name":"clock","version":"2.0","title":"Clock","websiteUrl":"https://clock.example","icons":[{"src":"https://clock.example/i.png"}],"own":true}`;
const EXTENSIONS = `{"io.modelcontextprotocol/ui":{},"io.modelcontextprotocol/skills":{"directoryRead":true,"own":[]}}`;
const CAPABILITIES = `{"tools":{},"resources":{},"prompts":{},"completions":{},"extensions":${EXTENSIONS}}`;
const INSTRUCTIONS = "Ask for the time.\nThen tell it.";

/** Texts of one revision; `mark` tells the upstreams apart. */
function scriptOf(revision: "legacy" | "modern", mark: string): Script {
  const isModern = revision === "modern";
  const result = (text: string, fields = ""): string =>
    isModern ? `{"resultType":"complete",${fields}${text.slice(1)}` : text;
  const list = (key: string, items: readonly string[]): string =>
    result(`{"${key}":[ ${items.join(" , ")} ]}`, '"ttlMs":7000,"cacheScope":"public",');
  return {
    results: {
      initialize: `{"protocolVersion":"2025-11-25","capabilities":${CAPABILITIES},"serverInfo":${SERVER_INFO},"instructions":${JSON.stringify(INSTRUCTIONS)}}`,
      "server/discover": `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":${CAPABILITIES},"ttlMs":0,"cacheScope":"public","instructions":${JSON.stringify(INSTRUCTIONS)},"_meta":{"io.modelcontextprotocol/serverInfo":${SERVER_INFO}}}`,
      "tools/list": list("tools", [...TOOLS, LIST_TOOL]),
      "tools/call numbers": result(NUMBERS),
      "resources/list": list("resources", RESOURCES),
      "resources/templates/list": list("resourceTemplates", TEMPLATES),
      "prompts/list": list("prompts", PROMPTS),
      "skills/list": list("skills", [...SKILLS, ...BROKEN_SKILLS]),
      "skills/get": ({ uri }) =>
        result(skillResult(String(uri).startsWith(SKILL) ? 0 : 1), '"ttlMs":1234,"cacheScope":"public",'),
      "resources/directory/read": result(DIRECTORY),
      "resources/read": ({ uri }) => result(readText(String(uri), mark), '"ttlMs":1234,"cacheScope":"public",'),
      "prompts/get": result(PROMPT),
      "completion/complete": result(COMPLETION),
      ...Object.fromEntries(Object.entries(CALLS).map(([name, text]) => [`tools/call ${name}`, result(text)])),
    },
    errors: { "prompts/get broken": ERROR, "tools/call broken": ERROR },
  };
}

function readText(uri: string, mark: string): string {
  return `{"contents":[{"text":"<p>${mark}</p>","uri":"${uri}","mimeType":"text/html;profile=mcp-app","_meta":{"ui":${CSP}}}],"own":1.0}`;
}

function skillResult(index: number): string {
  return `{"own":1.0,"skill":${SKILLS[index]}}`;
}

interface Connected {
  readonly id: string;
  readonly mark: string;
  readonly revision: "legacy" | "modern";
}

let world: McpWorld;
const upstreams: VerbatimUpstream[] = [];
const connected: Connected[] = [];

function connectedAs(index: number): Connected {
  const connection = connected[index];
  if (connection === undefined) throw new Error(`no connection ${index}`);
  return connection;
}

beforeAll(async () => {
  const kinds = [
    ["legacy", "one"],
    ["legacy", "two"],
    ["modern", "three"],
  ] as const;
  for (const [revision, mark] of kinds) upstreams.push(await startVerbatimUpstream(revision, scriptOf(revision, mark)));
  world = await createMcpWorld(
    {},
    upstreams.map(({ host }) => host),
  );
  for (const [index, [revision, mark]] of kinds.entries()) {
    const id = await world.owner.create({
      server_type: "mcp",
      name: `Clock ${mark}`,
      configuration: { url: upstreams[index]?.url ?? "" },
    });
    connected.push({ id, mark, revision });
  }
  for (const { id } of connected) await world.owner.waitFor(id, "verified");
}, 120_000);

afterAll(async () => {
  await world?.close();
  for (const upstream of upstreams) await upstream.close();
});

/** A client of a revision; returns the text of the whole response. */
type Asker = (method: string, params?: JsonObject) => Promise<string>;

async function askerOf(revision: "legacy" | "modern", path: string): Promise<Asker> {
  const wire: Wire = createWire(world.service.url, world.token, path);
  if (revision === "modern")
    return async (method, params = {}) => {
      const name = params.name ?? params.uri;
      const headers = modernHeaders(method, typeof name === "string" ? name : undefined);
      return (await wire.call(method, { ...params, _meta: modernMeta() }, { headers })).text;
    };
  const headers = await wire.open();
  return async (method, params = {}) => (await wire.call(method, params, { headers })).text;
}

const textOf = (text: string, key: string): string | undefined => {
  const member = memberOf(text, key);
  return member && text.slice(member.start, member.end);
};

const resultOf = (response: string): string => {
  const result = textOf(response, "result");
  if (result === undefined) throw new Error(`not a result: ${response}`);
  return result;
};

const itemsOf = (result: string, key: string): string[] => {
  const list = textOf(result, key) ?? "";
  return elementsOf(list).map(({ start, end }) => list.slice(start, end));
};

/** The members as text, in order, without those of the client's revision. */
function saidIn(result: string, client: "legacy" | "modern"): [string, string][] {
  const own = ["resultType", "ttlMs", "cacheScope"];
  const members = membersOf(result).map(({ key, start, end }): [string, string] => [key, result.slice(start, end)]);
  expect(members.filter(([key]) => own.includes(key)).length > 0).toBe(client === "modern");
  return members
    .filter(([key]) => !own.includes(key))
    .map(([key, text]): [string, string] => [key, key === "_meta" ? withoutServerInfo(text) : text])
    .filter(([key, text]) => key !== "_meta" || text !== "{}");
}

function withoutServerInfo(meta: string): string {
  const kept = membersOf(meta).filter(({ key }) => key !== "io.modelcontextprotocol/serverInfo");
  return `{${kept.map(({ keyStart, end }) => meta.slice(keyStart, end)).join(",")}}`;
}

const membersIn = (text: string): [string, string][] =>
  membersOf(text).map(({ key, start, end }) => [key, text.slice(start, end)]);

/** The text with the URIs that clients of `/mcp` know. */
const qualified = (text: string, id: string): string =>
  text
    .replaceAll(APP, `ui://patchbay/${id}/clock/app.html`)
    .replaceAll(NOTE, `patchbay://${id}/${NOTE}`)
    .replaceAll(TEMPLATE, `patchbay://${id}/${TEMPLATE}`)
    .replaceAll(/"uri":"skill:\/\/(?=acme\/refunds\/(SKILL|examples))/g, `"uri":"skill://patchbay/${id}/`)
    .replaceAll('"uri":"git://', `"uri":"patchbay://${id}/git://`)
    // A member that only looks like the URI of a file.
    .replace(`"own":{"uri":"skill://patchbay/${id}/`, '"own":{"uri":"skill://');

const unnamed = (tool: string): [string, string][] =>
  membersIn(tool).filter(([key]) => key !== "name" && key !== "description");

const CLIENTS = ["legacy", "modern"] as const;
const UPSTREAMS = [0, 2] as const;
const pairs = CLIENTS.flatMap((client) =>
  UPSTREAMS.map((index) => ({ client, index, upstream: index === 0 ? "legacy" : "modern" })),
);

describe.each(pairs)("a $client client of the address of a connection to a $upstream upstream", ({ client, index }) => {
  const connection = (): Connected => connectedAs(index);
  const ask = async (method: string, params?: JsonObject): Promise<string> =>
    (await askerOf(client, `/mcp/${connection().id}`))(method, params);

  test.each([
    ["tools/list", "tools", [...TOOLS, client === "modern" ? LIST_TOOL : LIST_TOOL.replace(LIST_SCHEMA, "")]],
    ["resources/list", "resources", RESOURCES],
    ["resources/templates/list", "resourceTemplates", TEMPLATES],
    ["prompts/list", "prompts", PROMPTS],
    ["skills/list", "skills", SKILLS],
  ])("receives the items of %s byte for byte", async (method, key, items) => {
    const result = resultOf(await ask(method));
    expect(itemsOf(result, key).sort()).toEqual([...items].sort());
    expect(saidIn(result, client).map(([name]) => name)).toEqual([key]);
    if (client === "modern")
      expect(textOf(result, "ttlMs")).toBe(connection().revision === "modern" ? "7000" : "30000");
  });

  test.each(Object.entries(CALLS))("receives the result of the tool %s byte for byte", async (name, said) => {
    expect(saidIn(resultOf(await ask("tools/call", { name, arguments: {} })), client)).toEqual(membersIn(said));
  });

  test("receives data that is not an object if its revision allows that", async () => {
    const said = saidIn(resultOf(await ask("tools/call", { name: "numbers" })), client);
    const data = textOf(NUMBERS, "structuredContent") ?? "";
    if (client === "modern") expect(said).toEqual(membersIn(NUMBERS));
    else expect(JSON.parse(said[0]?.[1] ?? "")).toEqual([{ type: "text", text: data.replace("1.0", "1") }]);
    expect(said).toHaveLength(client === "modern" ? 2 : 1);
  });

  test("receives resources, prompts and completions byte for byte", async () => {
    const read = resultOf(await ask("resources/read", { uri: NOTE }));
    expect(saidIn(read, client)).toEqual(membersIn(readText(NOTE, connection().mark)));
    if (client === "modern") expect(textOf(read, "ttlMs")).toBe(connection().revision === "modern" ? "1234" : "0");
    const prompt = resultOf(await ask("prompts/get", { name: "greet" }));
    expect(saidIn(prompt, client)).toEqual(membersIn(PROMPT));
    const ref = { type: "ref/prompt", name: "greet" };
    const completion = resultOf(await ask("completion/complete", { ref, argument: { name: "who", value: "a" } }));
    expect(saidIn(completion, client)).toEqual(membersIn(COMPLETION));
  });

  test("receives skills and directories byte for byte", async () => {
    for (const index of SKILLS.keys()) {
      const uri = String((JSON.parse(SKILLS[index] ?? "") as JsonObject).uri);
      const skill = resultOf(await ask("skills/get", { uri }));
      expect(saidIn(skill, client)).toEqual(membersIn(skillResult(index)));
      if (client === "modern") expect(textOf(skill, "ttlMs")).toBe(connection().revision === "modern" ? "1234" : "0");
    }
    const read = resultOf(await ask("resources/directory/read", { uri: SKILL.slice(0, -1), cursor: "a" }));
    expect(saidIn(read, client)).toEqual(membersIn(DIRECTORY));
    const asked = upstreams[index]?.received.findLast(({ method }) => method === "resources/directory/read");
    expect(asked?.params).toMatchObject({ uri: SKILL.slice(0, -1), cursor: "a" });
  });

  test("receives errors with code, message and data", async () => {
    const error = textOf(await ask("prompts/get", { name: "broken" }), "error");
    expect(JSON.parse(error ?? "")).toEqual(JSON.parse(ERROR));
  });

  test("receives the server's instructions and implementation info unchanged", async () => {
    if (client === "modern") {
      const result = resultOf(await ask("server/discover"));
      expect(JSON.parse(textOf(result, "instructions") ?? "")).toBe(INSTRUCTIONS);
      expect(textOf(textOf(result, "_meta") ?? "", "io.modelcontextprotocol/serverInfo")).toBe(SERVER_INFO);
      expect(textOf(textOf(result, "capabilities") ?? "", "extensions")).toBe(EXTENSIONS);
      return;
    }
    const wire = createWire(world.service.url, world.token, `/mcp/${connection().id}`);
    const clientInfo = { name: "c", version: "1" };
    const opened = await wire.call("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo });
    const result = resultOf(opened.text);
    expect(JSON.parse(textOf(result, "instructions") ?? "")).toBe(INSTRUCTIONS);
    expect(textOf(result, "serverInfo")).toBe(SERVER_INFO);
    expect(textOf(textOf(result, "capabilities") ?? "", "extensions")).toBe(EXTENSIONS);
  });
});

describe.each(CLIENTS)("a %s client of /mcp", (client) => {
  test("receives every item unchanged except for the connection in its URIs", async () => {
    const ask = await askerOf(client, "/mcp");
    const tools = itemsOf(resultOf(await ask("tools/list")), "tools").map(unnamed);
    const resources = itemsOf(resultOf(await ask("resources/list")), "resources");
    const templates = itemsOf(resultOf(await ask("resources/templates/list")), "resourceTemplates");
    const skills = itemsOf(resultOf(await ask("skills/list")), "skills");
    expect(skills).toHaveLength(SKILLS.length * connected.length);
    for (const { id } of connected) {
      for (const tool of TOOLS) expect(tools).toContainEqual(unnamed(qualified(tool, id)));
      for (const resource of RESOURCES) expect(resources).toContain(qualified(resource, id));
      for (const template of TEMPLATES) expect(templates).toContain(qualified(template, id));
      for (const skill of SKILLS) expect(skills).toContain(qualified(skill, id));
    }
  });

  test("can read the resources that a result names, and apps of two connections with the same URI render", async () => {
    const ask = await askerOf(client, "/mcp");
    for (const { id, mark } of connected) {
      const result = resultOf(await ask("tools/call", { name: `app__${id}`, arguments: {} }));
      expect(saidIn(result, client)).toEqual(membersIn(qualified(CALLS.app ?? "", id)));
      for (const uri of [APP, NOTE].map((one) => qualified(one, id))) {
        expect(result).toContain(JSON.stringify(uri));
        const read = resultOf(await ask("resources/read", { uri }));
        expect(saidIn(read, client)).toEqual(membersIn(readText(uri, mark)));
      }
    }
  });

  test("receives skills of two connections with the same URI under the URIs of the list", async () => {
    const ask = await askerOf(client, "/mcp");
    for (const { id } of connected) {
      for (const [index, skill] of SKILLS.entries()) {
        const uri = String((JSON.parse(qualified(skill, id)) as JsonObject).uri);
        const result = resultOf(await ask("skills/get", { uri }));
        expect(saidIn(result, client)).toEqual(membersIn(qualified(skillResult(index), id)));
      }
      const uri = `skill://patchbay/${id}/acme/refunds`;
      const read = resultOf(await ask("resources/directory/read", { uri }));
      expect(saidIn(read, client)).toEqual(membersIn(qualified(DIRECTORY, id)));
    }
  });

  test("receives prompts with URIs that it can read, and the instructions under the names of the connections", async () => {
    const ask = await askerOf(client, "/mcp");
    const [first] = connected;
    const prompt = resultOf(await ask("prompts/get", { name: `greet__${first?.id}` }));
    expect(saidIn(prompt, client)).toEqual(membersIn(qualified(PROMPT, first?.id ?? "")));
    if (client === "legacy") return;
    const instructions = String(JSON.parse(textOf(resultOf(await ask("server/discover")), "instructions") ?? ""));
    for (const { mark } of connected)
      expect(instructions).toContain(`## Clock ${mark}\n\nClock, https://clock.example\n\n${INSTRUCTIONS}`);
  });

  test("may send null for arguments and cursors", async () => {
    const ask = await askerOf(client, "/mcp");
    const listed = resultOf(await ask("tools/list", { cursor: null }));
    expect(itemsOf(listed, "tools").length).toBeGreaterThan(TOOLS.length);
    expect(itemsOf(resultOf(await ask("resources/list", { cursor: null })), "resources")).not.toEqual([]);
    const { id } = connectedAs(0);
    const called = resultOf(await ask("tools/call", { name: `bare__${id}`, arguments: null }));
    expect(saidIn(called, client)).toEqual(membersIn(CALLS.bare ?? ""));
  });
});

test("declares apps and skills to upstreams of both revisions", () => {
  const ui = { mimeTypes: ["text/html;profile=mcp-app"] };
  const declared = { extensions: { "io.modelcontextprotocol/ui": ui, "io.modelcontextprotocol/skills": {} } };
  const initialized = upstreams[0]?.received.find(({ method }) => method === "initialize");
  expect(initialized?.params.capabilities).toEqual(declared);
  const listed = upstreams[2]?.received.find(({ method }) => method === "tools/list");
  expect((listed?.params._meta as JsonObject)["io.modelcontextprotocol/clientCapabilities"]).toEqual(declared);
});

test.each(pairs)("passes the trace of a $client client on to a $upstream upstream", async ({ client, index }) => {
  const meta = {
    traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    tracestate: "a=b",
    baggage: "c=d",
  };
  const traceHeaders = { traceparent: meta.traceparent.replace("-01", "-00"), tracestate: "e=f", baggage: "secret=1" };
  const wire = createWire(world.service.url, world.token, `/mcp/${connectedAs(index).id}`);
  const headers = client === "modern" ? modernHeaders("tools/call", "bare") : await wire.open();
  const params = { name: "bare", arguments: {}, _meta: client === "modern" ? modernMeta(meta) : meta };
  resultOf((await wire.call("tools/call", params, { headers: { ...headers, ...traceHeaders } })).text);
  const sent = upstreams[index]?.received.findLast(({ method }) => method === "tools/call");
  expect(sent?.params._meta).toMatchObject(meta);
  expect(sent?.headers).toMatchObject({ traceparent: traceHeaders.traceparent, tracestate: "e=f" });
  expect(sent?.headers.baggage).toBeUndefined();
});

test("serves tools byte for byte after a restart without their upstream", async () => {
  const { id } = connectedAs(1);
  await upstreams[1]?.close();
  await world.service.stop();
  await world.service.start();
  const ask = await askerOf("legacy", `/mcp/${id}`);
  expect(itemsOf(resultOf(await ask("tools/list")), "tools")).toEqual(expect.arrayContaining(TOOLS));
  const rest = await fetch(`${world.service.url}/api/v1/mcp-servers/${id}/tools`, {
    headers: { authorization: `Bearer ${world.token}` },
  });
  expect(await rest.text()).toContain('"b":{},"a":{}');
});
