import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { type Skill, SkillsClient } from "@modelcontextprotocol/client/ext/skills";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { JsonObject } from "../../src/json.ts";
import { createProtocolClient } from "../support/clients.ts";
import { createWire, modernHeaders, modernMeta } from "../support/mcp-wire.ts";
import { createOwner } from "../support/owner.ts";
import { type SkillsUpstream, startSkillsUpstream } from "../support/skills-upstream.ts";
import { until } from "../support/until.ts";
import { createMcpWorld, type McpWorld } from "../transport/mcp/world.ts";

const EXTENSION = "io.modelcontextprotocol/skills";

const skillText = (name: string, mark: string): string =>
  `---\nname: ${name}\ndescription: ${name} of ${mark}\nmetadata:\n  by: ${mark}\n---\n\n# ${name} — ${mark}\n`;

let world: McpWorld;
let billing: SkillsUpstream;
let support: SkillsUpstream;
let billingId: string;
let supportId: string;

beforeAll(async () => {
  billing = await startSkillsUpstream({
    revision: "modern",
    readsDirectories: true,
    files: {
      "refunds/SKILL.md": skillText("refunds", "billing"),
      "refunds/references/POLICY.md": "Thirty days.\n",
      "acme/audit/SKILL.md": skillText("audit", "billing"),
    },
  });
  support = await startSkillsUpstream({
    revision: "legacy",
    readsDirectories: false,
    files: {
      "refunds/SKILL.md": skillText("refunds", "support"),
      "escalate/SKILL.md": skillText("escalate", "support"),
    },
  });
  world = await createMcpWorld({}, [billing.host, support.host]);
  billingId = await world.owner.create({ server_type: "mcp", name: "Billing", configuration: { url: billing.url } });
  supportId = await world.owner.create({ server_type: "mcp", name: "Support", configuration: { url: support.url } });
  for (const id of [billingId, supportId]) await world.owner.waitFor(id, "verified");
}, 120_000);

afterAll(async () => {
  await world?.close();
  await billing?.close();
  await support?.close();
});

type Revision = "legacy" | "modern";

async function connect(revision: Revision, path = "/mcp"): Promise<{ client: Client; skills: SkillsClient }> {
  const mode = revision === "modern" ? { pin: "2026-07-28" } : "legacy";
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
  const headers = { authorization: `Bearer ${world.token}` };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(world.service.url + path), { requestInit: { headers } }),
  );
  onTestFinished(() => client.close());
  return { client, skills: new SkillsClient(client) };
}

interface Asked {
  readonly status: number;
  readonly result?: JsonObject;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: JsonObject };
}

/** Sends a request as it is, in 2026-07-28. */
async function ask(method: string, params: JsonObject = {}, path = "/mcp", token = world.token): Promise<Asked> {
  const wire = createWire(world.service.url, token, path);
  const answer = await wire.call(method, { ...params, _meta: modernMeta() }, { headers: modernHeaders(method) });
  return { status: answer.status, ...answer.last };
}

/** An entry as clients of `/mcp` know it: nothing but its URIs is different. */
const qualified = (entry: Skill, id: string): Skill =>
  JSON.parse(JSON.stringify(entry).replaceAll('"skill://', `"skill://patchbay/${id}/`)) as Skill;

const uriOf = (id: string, path: string): string => `skill://patchbay/${id}/${path}`;

describe.each(["legacy", "modern"] as const)("a %s client", (revision) => {
  test("lists the skills of all connections and loads those with the same name by their URIs", async () => {
    const { client, skills } = await connect(revision);
    expect(client.getServerCapabilities()?.extensions?.[EXTENSION]).toEqual({ directoryRead: true });
    const { skills: listed } = await skills.list();
    const expected = [
      ...billing.entries.map((entry) => qualified(entry, billingId)),
      ...support.entries.map((entry) => qualified(entry, supportId)),
    ];
    expect(listed).toHaveLength(4);
    expect(listed).toEqual(expect.arrayContaining(expected));
    // The SDK compares size, digest and frontmatter of each file with its entry.
    for (const entry of listed) expect(await skills.read(entry)).toMatchObject({ verified: true, uri: entry.uri });
    const [one, two] = [billingId, supportId].map((id) =>
      listed.find(({ uri }) => uri === uriOf(id, "refunds/SKILL.md")),
    );
    if (one === undefined || two === undefined) throw new Error("a skill is not listed");
    expect((await skills.read(one)).text).toBe(skillText("refunds", "billing"));
    expect((await skills.read(two)).text).toBe(skillText("refunds", "support"));
    expect(await skills.read(one, "references/POLICY.md")).toMatchObject({ text: "Thirty days.\n", verified: true });
    expect((await skills.get(one.uri)).skill).toEqual(one);
    expect((await skills.get(two.uri)).skill).toEqual(two);
  });

  test("reads the directories of a skill", async () => {
    const { skills } = await connect(revision);
    const root = uriOf(billingId, "refunds");
    expect((await skills.readDirectory(root)).resources).toEqual([
      expect.objectContaining({ uri: `${root}/SKILL.md`, mimeType: "text/markdown" }),
      expect.objectContaining({ uri: `${root}/references`, mimeType: "inode/directory" }),
    ]);
    const { resources } = await skills.readDirectory(`${root}/references`);
    expect(resources.map(({ uri }) => uri)).toEqual([`${root}/references/POLICY.md`]);
  });

  test("receives the skills of one connection as its server publishes them", async () => {
    const { client, skills } = await connect(revision, `/mcp/${billingId}`);
    expect((await skills.list()).skills).toEqual(billing.entries);
    for (const entry of billing.entries) {
      expect((await skills.get(entry.uri)).skill).toEqual(entry);
      expect((await skills.read(entry)).verified).toBe(true);
    }
    expect(client.getServerCapabilities()?.extensions).toEqual({ [EXTENSION]: { directoryRead: true } });
    const other = await connect(revision, `/mcp/${supportId}`);
    expect(other.client.getServerCapabilities()?.extensions).toEqual({ [EXTENSION]: {} });
    expect((await other.skills.list()).skills).toEqual(support.entries);
  });
});

test("a connection without skills neither declares nor serves them", async () => {
  const path = `/mcp/${world.id}`;
  const { result } = await ask("server/discover", {}, path);
  expect(result?.capabilities).not.toHaveProperty("extensions");
  for (const method of ["skills/list", "skills/get", "resources/directory/read"])
    expect(await ask(method, { uri: "skill://refunds/SKILL.md" }, path)).toMatchObject({
      status: 404,
      error: { code: -32601 },
    });
  const read = await ask("resources/directory/read", { uri: "skill://refunds" }, `/mcp/${supportId}`);
  expect(read).toMatchObject({ error: { code: -32601 } });
});

test("directories of a server that cannot list them are invalid where another one can", async () => {
  expect(await ask("resources/directory/read", { uri: uriOf(supportId, "refunds") })).toMatchObject({
    error: { code: -32602, message: 'The connection "Support" does not support reading directories.' },
  });
  const file = uriOf(billingId, "refunds/SKILL.md");
  expect(await ask("resources/directory/read", { uri: file })).toMatchObject({ error: { code: -32602 } });
});

test("pages of a directory follow the cursor of its server", async () => {
  const uri = uriOf(billingId, "refunds");
  const first = await ask("resources/directory/read", { uri });
  expect(first.result).toMatchObject({ resultType: "complete", ttlMs: 0, cacheScope: "private" });
  expect(first.result?.resources).toHaveLength(1);
  const { nextCursor } = first.result ?? {};
  const second = await ask("resources/directory/read", { uri, cursor: nextCursor ?? "" });
  expect(second.result?.resources).toEqual([expect.objectContaining({ uri: `${uri}/references` })]);
  expect(second.result).not.toHaveProperty("nextCursor");
});

test("an unqualified URI means the only connection with the skill, and all files keep that form", async () => {
  const [own] = support.entries.filter(({ uri }) => uri === "skill://escalate/SKILL.md");
  expect((await ask("skills/get", { uri: "skill://escalate/SKILL.md" })).result?.skill).toEqual(own);
  const read = await ask("resources/directory/read", { uri: "skill://acme/audit" });
  expect(read.result?.resources).toEqual([expect.objectContaining({ uri: "skill://acme/audit/SKILL.md" })]);
  const wire = createWire(world.service.url, world.token);
  const uri = "skill://acme/audit/SKILL.md";
  const { last } = await wire.call(
    "resources/read",
    { uri, _meta: modernMeta() },
    { headers: modernHeaders("resources/read", uri) },
  );
  expect(last.result).toMatchObject({ contents: [{ uri, text: skillText("audit", "billing") }] });
});

test("an ambiguous URI returns the qualified ones", async () => {
  const { error } = await ask("skills/get", { uri: "skill://refunds/SKILL.md" });
  expect(error?.code).toBe(-32602);
  for (const id of [billingId, supportId]) expect(error?.message).toContain(uriOf(id, "refunds/SKILL.md"));
});

test("an unknown skill returns invalid params", async () => {
  for (const path of [uriOf(billingId, "chargebacks/SKILL.md"), uriOf(supportId, "chargebacks/SKILL.md")])
    expect(await ask("skills/get", { uri: path })).toMatchObject({
      status: 200,
      error: { code: -32602, message: "No skill is served at skill://chargebacks/SKILL.md" },
    });
  // The template of both servers matches it.
  expect(await ask("skills/get", { uri: "skill://chargebacks/SKILL.md" })).toMatchObject({ error: { code: -32602 } });
  for (const uri of ["other://chargebacks/SKILL.md", "patchbay://999999999/a://b/SKILL.md", "%", "x".repeat(5_000)])
    expect(await ask("skills/get", { uri })).toMatchObject({
      status: 200,
      error: { code: -32602, message: expect.stringContaining("Unknown skill"), data: { uri } },
    });
});

test.each([
  ["skills/get", {}, "uri is required"],
  ["skills/get", { uri: "" }, "uri is required"],
  ["skills/get", { uri: 7 }, "uri must be a string"],
  ["skills/get", { uri: ["skill://refunds/SKILL.md"] }, "uri must be a string"],
  ["skills/list", { cursor: "bogus" }, "cursor must be the nextCursor of an earlier page"],
  ["skills/list", { cursor: 1 }, "cursor must be a string"],
  ["resources/directory/read", {}, "uri is required"],
  ["resources/directory/read", { uri: "" }, "uri is required"],
  ["resources/directory/read", { uri: "skill://refunds", cursor: {} }, "cursor must be a string"],
])("%s rejects the parameters %j", async (method, params: JsonObject, message) => {
  expect(await ask(method, params)).toMatchObject({
    status: 200,
    error: { code: -32602, message: expect.stringContaining(message) },
  });
});

test("the skills of another account are unknown", async () => {
  const stranger = await world.accounts.create();
  const token = await stranger.token();
  const uri = uriOf(billingId, "refunds/SKILL.md");
  expect(await ask("skills/list", {}, "/mcp", token)).toMatchObject({ status: 404, error: { code: -32601 } });
  expect((await ask("skills/list", {}, `/mcp/${billingId}`, token)).status).toBe(404);
  const owner = createOwner(createProtocolClient("rest", world.service.url), token);
  const own = await owner.create({ server_type: "mcp", configuration: { url: billing.url } });
  await owner.waitFor(own, "verified");
  const { result } = await ask("skills/list", {}, "/mcp", token);
  expect(JSON.stringify(result)).toContain(uriOf(own, "refunds/SKILL.md"));
  expect(JSON.stringify(result)).not.toContain(`/${billingId}/`);
  for (const method of ["skills/get", "resources/directory/read"])
    expect(await ask(method, { uri }, "/mcp", token)).toMatchObject({ error: { code: -32602 } });
});

test("a disabled connection loses its skills, and one with read access keeps them", async () => {
  const uri = uriOf(supportId, "escalate/SKILL.md");
  const change = (input: JsonObject) => world.owner.call("UpdateConnection", { server_id: supportId, ...input });
  const isListed = async () => JSON.stringify((await ask("skills/list")).result).includes(uri);
  await change({ access_type: "read" });
  expect((await ask("skills/get", { uri })).result).toBeDefined();
  await change({ agent_enabled: false });
  await until(async () => !(await isListed()), { what: "the skills to be gone" });
  expect(await ask("skills/get", { uri })).toMatchObject({ error: { code: -32602 } });
  await change({ agent_enabled: true, access_type: "write" });
  await until(isListed, { what: "the skills to be back" });
});

test("an upstream that is down is named, and its skills stay listed", async () => {
  await billing.close();
  const uri = uriOf(billingId, "refunds/SKILL.md");
  expect(JSON.stringify((await ask("skills/list")).result)).toContain(uri);
  const { error } = await ask("skills/get", { uri });
  expect(error).toMatchObject({ code: -32000, message: expect.stringContaining("cannot be reached") });
});
