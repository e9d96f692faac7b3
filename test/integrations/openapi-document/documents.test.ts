import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/json.ts";
import type { ToolDefinition } from "../../../src/integrations/tool.ts";
import { digestOf } from "../../../src/integrations/openapi-document/document-cache.ts";
import { createWorld, documentOf, options, type Site, startSite, type World } from "./support.ts";

let world: World;
let site: Site;
let specUrl: string;

beforeEach(async () => {
  [world, site] = await Promise.all([createWorld(), startSite()]);
  specUrl = `${site.url}/openapi.json`;
});

afterEach(async () => {
  await site?.close();
  await world?.close();
});

async function names(configuration: Parameters<World["target"]>[0], connectionId?: number): Promise<string[]> {
  const tools = await world.integration.listTools(world.target(configuration, connectionId), options);
  return tools.map(({ name }) => name);
}

async function count(table: string): Promise<unknown> {
  return (await world.database.pool.query(`select count(*)::int as count from ${table}`)).rows[0]?.["count"];
}

/** Creates a connection with this configuration. */
async function use(accountId: string, configuration: JsonObject): Promise<void> {
  await world.database.pool.query("insert into account (id, email, password_hash) values ($1, $1, '')", [accountId]);
  const insert = `insert into connection (account_id, id, server_type, name, access_type, configuration, verification_status, oauth_client_id)
    values ($1, 1, 'openapi', 'A', 'write', $2, 'pending', 'c')`;
  await world.database.pool.query(insert, [accountId, configuration]);
}

const due = (): Promise<unknown> => world.database.pool.query("update openapi_source set due_at = now()");

describe("a document at a URL", () => {
  test("is converted to tools by name", async () => {
    expect(await names({ spec_url: specUrl })).toEqual(["add_thing", "list_things"]);
  });

  test("is fetched once and stored once for all its connections", async () => {
    const lists = await Promise.all(
      Array.from({ length: 1_000 }, (_, index) =>
        world.integration.listTools(world.target({ spec_url: specUrl }, index + 1), options),
      ),
    );
    expect(new Set(lists).size).toBe(1);
    expect(site.requests).toHaveLength(1);
    expect([await count("openapi_document"), await count("openapi_source")]).toEqual([1, 1]);
  });

  test("stores nothing on a trial", async () => {
    expect(await names({ spec_url: specUrl }, -1)).toHaveLength(2);
    expect([await count("openapi_document"), await count("openapi_source")]).toEqual([0, 0]);
  });

  test("is fetched with its ETag when due, and not before", async () => {
    await names({ spec_url: specUrl });
    await world.documents.maintain();
    expect(site.requests).toHaveLength(1);
    await due();
    await world.documents.maintain();
    expect(site.requests[1]?.headers["if-none-match"]).toMatch(/^"\d+"$/);
    expect(await world.store.listChanges(specUrl, 10)).toEqual([]);
    await world.documents.maintain();
    expect(site.requests).toHaveLength(2);
  });

  test("is refreshed by only one replica when due", async () => {
    await names({ spec_url: specUrl });
    await due();
    const claims = await Promise.all([world.store.claimDue(5), world.store.claimDue(5), world.store.claimDue(5)]);
    expect(claims.flat()).toHaveLength(1);
  });

  test("records which tools a change added, removed and changed", async () => {
    await names({ spec_url: specUrl });
    const operation = { responses: { "200": { description: "ok" } } };
    site.document = documentOf({
      paths: {
        "/things": { get: { operationId: "list_things", ...operation } },
        "/new": { get: { operationId: "new_one", ...operation } },
      },
    });
    await due();
    await world.documents.maintain();
    expect(await names({ spec_url: specUrl })).toEqual(["list_things", "new_one"]);
    expect(await world.integration.toolChanges?.({ spec_url: specUrl }, 10)).toEqual([
      { changedAt: expect.any(Date), added: ["new_one"], removed: ["add_thing"], changed: ["list_things"] },
    ]);
  });

  test("still serves calls of an accepted definition after it changed", async () => {
    const tools = await world.integration.listTools(world.target({ spec_url: specUrl }), options);
    const [add] = tools.filter(({ name }) => name === "add_thing");
    if (add === undefined) throw new Error("there was to be a tool add_thing");
    site.document = documentOf({ paths: { "/elsewhere": { delete: { operationId: "add_thing" } } } });
    await due();
    await world.documents.maintain();
    const [now] = await world.integration.listTools(world.target({ spec_url: specUrl }), options);
    expect(now).toMatchObject({ name: "add_thing", request: "DELETE /v1/elsewhere" });
    const call = (tool: ToolDefinition) =>
      world.integration.callTool(world.target({ spec_url: specUrl }), tool, {}, options);
    await call(add);
    expect(site.requests.at(-1)).toMatchObject({ method: "POST", url: "/v1/things" });
    if (now !== undefined) await call(now);
    expect(site.requests.at(-1)).toMatchObject({ method: "DELETE", url: "/v1/elsewhere" });
  });

  test("is stored once by two concurrent first fetches, and the first one wins", async () => {
    const [first, second] = ["first", "second"].map((title) => documentOf({ info: { title, version: "1" } }));
    const save = async (document: JsonObject | undefined): Promise<string> => {
      const text = JSON.stringify(document);
      await world.store.save({ digest: digestOf(text), text, toolNames: [] });
      return digestOf(text);
    };
    const [one, two] = [await save(first), await save(second)];
    const url = `${specUrl}?first`;
    expect(await world.store.addSource({ url, digest: one, etag: undefined }, 60)).toMatchObject({ digest: one });
    expect(await world.store.addSource({ url, digest: two, etag: undefined }, 60)).toMatchObject({ digest: one });
  });

  test.each([
    ["the URL fails", undefined],
    ["the new document is unusable", "{"],
  ])("stays in use if %s", async (_title, broken) => {
    await names({ spec_url: specUrl });
    site.document = broken;
    await due();
    await world.documents.maintain();
    world.documents.forgetSources();
    expect(await names({ spec_url: specUrl })).toEqual(["add_thing", "list_things"]);
    expect(world.warnings).toHaveLength(1);
  });

  test("is fetched again only later after a failure", async () => {
    site.document = undefined;
    for (let round = 0; round < 3; round += 1)
      await expect(names({ spec_url: specUrl })).rejects.toMatchObject({
        kind: "unavailable",
        message: expect.stringMatching(/answers 500/),
      });
    expect(site.requests).toHaveLength(1);
  });
});

describe("an inline document", () => {
  test("is replaced by its digest in the configuration and stored once", async () => {
    const adopt = async (): Promise<unknown> =>
      (await world.integration.adoptConfiguration?.({ spec: documentOf() }, "a"))?.["spec"];
    const reference = await adopt();
    expect(reference).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(await adopt()).toBe(reference);
    expect(await count("openapi_document")).toBe(1);
    expect(await names({ spec: String(reference) })).toEqual(["add_thing", "list_things"]);
  });

  test("is accepted by its digest only for an account whose connection uses it", async () => {
    const adopted = await world.integration.adoptConfiguration?.({ spec: documentOf() }, "a");
    const [mine, theirs, unknown] = [
      { accountId: "a", spec: String(adopted?.["spec"]) },
      { accountId: "b", spec: String(adopted?.["spec"]) },
      { accountId: "b", spec: `sha256:${"0".repeat(64)}` },
    ];
    const adopt = ({ accountId, spec }: typeof mine): unknown =>
      world.integration.adoptConfiguration?.({ spec }, accountId);
    const preview = ({ accountId, spec }: typeof mine): unknown =>
      world.integration.listTools({ ...world.target({ spec }, -1), accountId }, options);
    const refusal = async (attempt: unknown): Promise<unknown> => {
      const outcome: unknown = await Promise.resolve(attempt).catch((error: unknown) => error);
      return outcome instanceof Error ? outcome.message : "accepted";
    };
    // Until a connection uses the document, even the account that supplied it is refused.
    expect(await refusal(adopt(mine))).toBe(await refusal(adopt(unknown)));
    await use("a", adopted ?? {});
    expect(await adopt(mine)).toEqual({ spec: mine.spec });
    expect(await preview(mine)).toHaveLength(2);
    const refused = await refusal(adopt(theirs));
    expect(refused).toMatch(/not stored here/);
    expect(refused).toBe(await refusal(adopt(unknown)));
    const hidden = await refusal(preview(theirs));
    expect(hidden).toMatch(/not stored here/);
    expect(hidden).toBe(await refusal(preview(unknown)));
  });

  test("is purged once no connection refers to it", async () => {
    const adopted = await world.integration.adoptConfiguration?.({ spec: documentOf() }, "a");
    await use("a", adopted ?? {});
    await world.database.pool.query("update openapi_document set used_at = now() - interval '2 days'");
    await world.store.purge();
    expect(await count("openapi_document")).toBe(1);
    await world.database.pool.query("delete from connection");
    await world.store.purge();
    expect(await count("openapi_document")).toBe(0);
  });

  test.each([
    ["text that is not a document", "hello: [", /not valid YAML/],
    ["an object that is not a document", { hello: 1 }, /openapi/],
    ["a document without operations", { openapi: "3.1.0", paths: {} }, /no operations/],
    ["a document with a dangling reference", documentOf({}, { "/a": { $ref: "#/nowhere" } }), /dangling/],
    ["a reference to a missing document", `sha256:${"0".repeat(64)}`, /not stored/],
  ])("rejects %s", async (_title, spec, message) => {
    await expect(world.integration.adoptConfiguration?.({ spec }, "a")).rejects.toMatchObject({
      kind: "invalid",
      field: "spec",
      message: expect.stringMatching(message),
    });
  });

  test("may be in Swagger 2.0", async () => {
    const spec = {
      swagger: "2.0",
      info: { title: "Old", version: "1" },
      host: "old.example.com",
      basePath: "/v2",
      schemes: ["https"],
      paths: {
        "/pets/{id}": {
          get: {
            operationId: "get_pet",
            parameters: [{ name: "id", in: "path", required: true, type: "integer" }],
            responses: { 200: { description: "ok" } },
          },
        },
      },
    };
    const [tool] = await world.integration.listTools(world.target({ spec }, -1), options);
    expect(tool).toMatchObject({
      name: "get_pet",
      inputSchema: { properties: { id: { type: "integer" } }, required: ["id"] },
    });
  });
});
