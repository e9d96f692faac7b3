import { createCallSlots } from "../../../src/runtime/calls/call-slots.ts";
import { DEFAULT_CALL_TIMES } from "../../../src/runtime/calls/call-times.ts";
import { createRunningCalls } from "../../../src/runtime/calls/running-calls.ts";
import { isDeepStrictEqual } from "node:util";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { OPERATOR } from "../../../src/identity/actor.ts";
import type { Connection } from "../../../src/connections/connection.ts";
import { createMcpIntegration } from "../../../src/integrations/mcp/mcp-integration.ts";
import type { Notification } from "../../../src/integrations/relay.ts";
import { SKILLS_EXTENSION } from "../../../src/integrations/skills.ts";
import type { JsonObject } from "../../../src/json.ts";
import { createGuardedDispatcher } from "../../../src/outbound/guarded-dispatcher.ts";
import type { FeatureResult, UpstreamFeatures } from "../../../src/runtime/upstream/upstream-features.ts";
import { createUpstreamFeatures } from "../../../src/runtime/upstream/upstream-features-in-view.ts";
import { createListingFeed } from "../../../src/storage/stores/sessions/offer-change.ts";
import { startEverythingServer as startSdkServer } from "../../conformance/everything-server.ts";
import { json, stream, type Script } from "../../integrations/mcp/scripted-upstream.ts";
import { startServer } from "./scripted-server.ts";
import { createWorld, eventually, principal, toolNamed, type World } from "../world.ts";

let world: World;

beforeAll(async () => {
  world = await createWorld();
});

afterAll(async () => {
  await world.close();
});

/** Creates connections of a new account to these servers. */
async function over(urls: readonly string[], options: { freshMs?: number } = {}) {
  const log = pino({ level: "silent" });
  const dispatcher = createGuardedDispatcher({ allow: urls.map((url) => new URL(url).host) });
  const integration = createMcpIntegration({ dispatcher, checkDestination: () => undefined, log, timeoutMs: 5_000 });
  const catalog = new Map([["mcp", integration]]);
  const features = createUpstreamFeatures({
    slots: createCallSlots(),
    running: createRunningCalls(),
    times: DEFAULT_CALL_TIMES,
    connections: world.view,
    catalog,
    feed: world.feed,
    listingFeed: await createListingFeed(world.orm, world.listener),
    log,
    ...options,
  });
  onTestFinished(async () => {
    integration.close();
    await dispatcher.destroy();
  });
  const accountId = await world.createAccount();
  const connections: Connection[] = [];
  for (const [index, url] of urls.entries()) connections.push(await connect(accountId, url, `Server ${index + 1}`));
  return {
    features,
    integration,
    connections,
    accountId,
    who: principal(accountId),
    ids: connections.map(({ id }) => id),
  };
}

async function connect(accountId: string, url: string, name: string): Promise<Connection> {
  const created = await world.store.create(
    {
      accountId,
      serverType: "mcp",
      name,
      description: "",
      accessType: "read",
      configuration: { url },
      secrets: {},
      hasCredential: false,
      statusReason: undefined,
      acceptToolChanges: "manual",
      authMethod: "configured",
      needsAuthorization: false,
    },
    OPERATOR,
  );
  await world.store.recordVerification(accountId, created.id, 1, "verified", undefined);
  const find = async () => (await world.view.ofAccount(accountId)).find(({ id }) => id === created.id);
  await eventually(async () => (await find())?.verificationStatus === "verified");
  const connection = await find();
  if (connection === undefined) throw new Error("the connection just made is gone");
  return connection;
}

const patient = () => ({ signal: new AbortController().signal });

const parsed = async (result: Promise<FeatureResult>): Promise<JsonObject> =>
  JSON.parse((await result).text) as JsonObject;

const fields = (result: JsonObject, list: string, field: string): unknown[] =>
  (result[list] as JsonObject[]).map((item) => item[field]);

const uris = async (features: UpstreamFeatures, who: ReturnType<typeof principal>) =>
  fields(await parsed(features.listResources(who, undefined, patient())), "resources", "uri");
const promptNames = async (features: UpstreamFeatures, who: ReturnType<typeof principal>) =>
  fields(await parsed(features.listPrompts(who, undefined, patient())), "prompts", "name");

describe("names and URIs", () => {
  it("of prompts are qualified if ambiguous, and URIs always", async () => {
    const [one, two] = [
      await startServer({ resources: ["a://own", "a://shared"], prompts: ["own", "shared"], templates: ["t://{id}"] }),
      await startServer({ resources: ["a://shared"], prompts: ["shared", "x__7"], templates: ["t://{id}"] }),
    ];
    const { features, who, ids } = await over([one.url, two.url]);
    const [first, second] = ids;
    expect(await uris(features, who)).toEqual(
      [`patchbay://${first}/a://own`, `patchbay://${first}/a://shared`, `patchbay://${second}/a://shared`].sort(),
    );
    expect(await promptNames(features, who)).toEqual(
      ["own", `shared__${first}`, `shared__${second}`, `x__7__${second}`].sort(),
    );
    const templates = await parsed(features.listResourceTemplates(who, undefined, patient()));
    expect(fields(templates, "resourceTemplates", "uriTemplate")).toEqual(
      [`patchbay://${first}/t://{id}`, `patchbay://${second}/t://{id}`].sort(),
    );

    const read = (uri: string) => parsed(features.readResource(who, uri, patient()));
    expect(await read("a://own")).toEqual({ contents: [{ uri: "a://own", text: "read" }] });
    for (const qualified of [`patchbay://${second}/a://shared`, `patchbay://${second}/a%3A%2F%2Fshared`]) {
      expect(await read(qualified)).toEqual({ contents: [{ uri: qualified, text: "read" }] });
    }
    expect(two.of("resources/read").map(({ message }) => (message.params as JsonObject).uri)).toEqual([
      "a://shared",
      "a://shared",
    ]);
    await expect(read("a://shared")).rejects.toMatchObject({
      kind: "invalid",
      message: expect.stringContaining(`patchbay://${second}/a://shared (connection "Server 2")`) as string,
    });
    await expect(read("t://1")).rejects.toMatchObject({ kind: "invalid" });
    await expect(features.getPrompt(who, "shared", undefined, patient())).rejects.toMatchObject({ kind: "invalid" });
    await features.getPrompt(who, `x__7__${second}`, undefined, patient());
    expect(two.of("prompts/get")[0]?.message.params).toEqual({ name: "x__7" });
  });

  it("are unqualified for a principal bound to one connection", async () => {
    const [one, two] = [await startServer({ resources: ["a://1"] }), await startServer({ resources: ["a://1"] })];
    const { features, accountId, ids } = await over([one.url, two.url]);
    const who = principal(accountId, { connectionId: ids[1] });
    expect(await uris(features, who)).toEqual(["a://1"]);
    await features.readResource(who, "a://1", patient());
    expect(two.of("resources/read")).toHaveLength(1);
    await expect(features.readResource(who, `patchbay://${ids[0]}/a://1`, patient())).resolves.toBeDefined();
    expect(one.of("resources/read")).toHaveLength(0);
  });

  it("inside prompt messages can be requested by the client", async () => {
    const [one, two] = [
      await startServer({ resources: ["a://1"], prompts: ["p"] }),
      await startServer({ resources: ["a://1"] }),
    ];
    const { features, who, ids } = await over([one.url, two.url]);
    const prompt = await parsed(features.getPrompt(who, "p", undefined, patient()));
    expect(prompt.messages).toContainEqual({
      role: "user",
      content: { type: "resource_link", uri: `patchbay://${ids[0]}/a://1`, name: "link" },
    });
  });

  it("resolve through templates, or to the only connection with resources", async () => {
    const [one, two] = [
      await startServer({ templates: ["one://{id}/x"] }),
      await startServer({ capabilities: { prompts: {} } }),
    ];
    const { features, who } = await over([one.url, two.url]);
    await features.readResource(who, "one://7/x", patient());
    await features.readResource(who, "other://7", patient());
    expect(one.of("resources/read")).toHaveLength(2);
    expect(two.of("resources/read")).toHaveLength(0);
  });

  it("in a completion reference are translated to those of the upstream", async () => {
    const [one, two] = [
      await startServer({ prompts: ["p"] }),
      await startServer({ prompts: ["p"], templates: ["t://{a}"] }),
    ];
    const { features, who, ids } = await over([one.url, two.url]);
    const argument = { name: "a", value: "" };
    const complete = async (ref: JsonObject) =>
      (await parsed(features.complete(who, { ref, argument }, patient()))).completion;
    expect(await complete({ type: "ref/prompt", name: `p__${ids[1]}` })).toEqual({
      values: ['{"type":"ref/prompt","name":"p"}'],
    });
    expect(await complete({ type: "ref/resource", uri: "t://{a}" })).toEqual({
      values: ['{"type":"ref/resource","uri":"t://{a}"}'],
    });
    await expect(features.complete(who, { ref: { type: "ref/other" }, argument }, patient())).rejects.toMatchObject({
      kind: "invalid",
    });
  });
});

describe("feature lists", () => {
  it("are paged without duplicates or gaps while they change", async () => {
    const resources = Array.from({ length: 1_100 }, (_, index) => `a://${String(index).padStart(4, "0")}`);
    const server = await startServer({ resources });
    const { features, accountId, ids } = await over([server.url], { freshMs: 0 });
    const who = principal(accountId, { connectionId: ids[0] });
    const page = async (cursor?: string) => parsed(features.listResources(who, cursor, patient()));
    const first = await page();
    expect(first.resources).toHaveLength(500);
    server.offering.resources = resources.filter((uri) => uri > "a://0003");
    await eventually(async () => (await uris(features, who))[0] === "a://0004");
    const second = await page(String(first.nextCursor));
    const third = await page(String(second.nextCursor));
    expect(third).not.toHaveProperty("nextCursor");
    const seen = [first, second, third].flatMap((one) => fields(one, "resources", "uri"));
    expect(seen).toEqual(resources);
    await expect(page("bogus")).rejects.toMatchObject({ kind: "invalid", field: "cursor" });
  });

  it("of skills with many files have shorter pages", async () => {
    const skills = Array.from({ length: 30 }, (_, index) => `s-${String(index).padStart(2, "0")}#500`);
    const server = await startServer({
      capabilities: { resources: {}, extensions: { [SKILLS_EXTENSION]: {} } },
      skills,
    });
    const { features, who, ids } = await over([server.url]);
    const seen: unknown[] = [];
    let cursor: string | undefined;
    do {
      const result = await features.listSkills(who, cursor);
      expect(result.text.length).toBeLessThan(1_200_000);
      const page = JSON.parse(result.text) as JsonObject;
      seen.push(...fields(page, "skills", "uri"));
      cursor = page.nextCursor === undefined ? undefined : String(page.nextCursor);
      expect(cursor === undefined).toBe(seen.length === skills.length);
    } while (cursor !== undefined);
    expect(seen).toEqual(skills.map((path) => `skill://patchbay/${ids[0]}/${path.split("#")[0]}/SKILL.md`));
  });

  it("wait for a hanging upstream only once", async () => {
    const [slow, quick] = [
      await startServer({}, { "resources/list": () => undefined }),
      await startServer({ resources: ["a://1"] }),
    ];
    const { features, who } = await over([slow.url, quick.url]);
    // The wait for the slow server starts with the first request, and is shortest for capabilities.
    expect(await features.capabilities(who)).toMatchObject({ resources: { subscribe: true, listChanged: true } });
    // Waits until the connections are read again.
    await vi.waitFor(() => {
      expect(features.capabilities(who)).not.toBeInstanceOf(Promise);
    }, 5_000);
    expect(await parsed(features.readResource(who, "a://1", patient()))).toMatchObject({
      contents: [{ uri: "a://1" }],
    });
  });

  it("contain the last known items while the upstream is down", async () => {
    const server = await startServer({ prompts: ["p"] });
    const { features, who } = await over([server.url], { freshMs: 0 });
    expect(await promptNames(features, who)).toEqual(["p"]);
    server.close();
    for (let turn = 0; turn < 3; turn += 1) expect(await promptNames(features, who)).toEqual(["p"]);
    await expect(features.getPrompt(who, "p", undefined, patient())).rejects.toMatchObject({ kind: "unavailable" });
  });

  it("are empty and not advertised for a token without a reading scope", async () => {
    const server = await startServer({ prompts: ["p"] });
    const { features, accountId } = await over([server.url]);
    const who = principal(accountId, { scopes: [] });
    expect(await features.capabilities(who)).toEqual({});
    expect(await promptNames(features, who)).toEqual([]);
    await expect(features.getPrompt(who, "p", undefined, patient())).rejects.toMatchObject({ kind: "not_found" });
  });
});

describe("an unusable connection", () => {
  it("lists nothing, and requests fail with the reason", async () => {
    const server = await startServer({ resources: ["a://1"], prompts: ["p"] });
    const { features, who, accountId, ids } = await over([server.url]);
    expect(await uris(features, who)).toEqual([`patchbay://${ids[0]}/a://1`]);
    await world.store.recordVerification(accountId, ids[0] ?? 0, 1, "failed", "The key was refused");
    await eventually(async () => (await uris(features, who)).length === 0);
    expect(await features.capabilities(who)).toHaveProperty("resources");
    for (const uri of ["a://1", `patchbay://${ids[0]}/a://1`]) {
      await expect(features.readResource(who, uri, patient())).rejects.toMatchObject({
        kind: "unavailable",
        message: expect.stringContaining("The key was refused") as string,
      });
    }
  });

  it("of another account is not found", async () => {
    const server = await startServer({ prompts: ["p"] });
    const { ids } = await over([server.url]);
    const { features, who } = await over([]);
    await expect(features.getPrompt(who, `p__${ids[0]}`, undefined, patient())).rejects.toMatchObject({
      kind: "not_found",
    });
  });
});

describe("errors of upstreams", () => {
  it("are passed on with code, message and data", async () => {
    const failing =
      (code: number): Script =>
      ({ message }, response) =>
        json(response, { jsonrpc: "2.0", id: message.id, error: { code, message: "no such thing", data: { a: 1 } } });
    const server = await startServer(
      { resources: ["a://1"], prompts: ["p"] },
      { "resources/read": failing(-32002), "prompts/get": failing(-32050) },
    );
    const { features, who } = await over([server.url]);
    await expect(features.readResource(who, "a://1", patient())).rejects.toMatchObject({
      code: -32002,
      message: "no such thing",
      data: { a: 1 },
    });
    await expect(features.getPrompt(who, "p", undefined, patient())).rejects.toMatchObject({
      code: -32050,
      message: "no such thing",
      data: { a: 1 },
    });
  });

  it("of a canceled request are the caller's abort reason", async () => {
    const server = await startServer({ resources: ["a://1"] }, { "resources/read": () => undefined });
    const { features, who } = await over([server.url]);
    const controller = new AbortController();
    const read = features.readResource(who, "a://1", { signal: controller.signal });
    read.catch(() => undefined);
    await server.until("resources/read");
    controller.abort(new Error("left"));
    await expect(read).rejects.toThrow("left");
    await server.until("notifications/cancelled");
  });
});

describe("a change follower", () => {
  const everything = {
    resourcesListChanged: true,
    promptsListChanged: true,
    resourceUris: new Set<string>(),
    client: undefined,
  };

  it("receives list changes of upstreams and connections until it is stopped", async () => {
    const server = await startServer({ prompts: ["p"] });
    const { features, who, accountId } = await over([server.url], { freshMs: 20 });
    const heard: string[] = [];
    const followed = features.follow(who, everything, ({ method }) => heard.push(method));
    await promptNames(features, who);
    await eventually(() => server.of("prompts/list").length > 1);
    server.offering.prompts = ["p", "q"];
    await eventually(() => heard.includes("notifications/prompts/list_changed"));
    expect(heard).not.toContain("notifications/resources/list_changed");
    const other = await startServer({ resources: ["b://1"] });
    await connect(accountId, other.url, "Unreachable");
    followed.stop();
    heard.length = 0;
    server.offering.prompts = [];
    await eventually(async () => (await promptNames(features, who)).length === 0);
    expect(heard).toEqual([]);
  });

  it("receives changes of skills as changes of resources", async () => {
    const capabilities = { resources: {}, extensions: { [SKILLS_EXTENSION]: {} } };
    const server = await startServer({ capabilities, skills: ["refunds"] });
    const { features, who } = await over([server.url], { freshMs: 20 });
    const heard: string[] = [];
    const followed = features.follow(who, everything, ({ method }) => heard.push(method));
    onTestFinished(() => followed.stop());
    await features.listSkills(who, undefined);
    await eventually(() => server.of("skills/list").length > 1);
    server.offering.skills = ["refunds", "audit"];
    await eventually(() => heard.length > 0);
    expect(heard).toEqual(["notifications/resources/list_changed"]);
  });

  it("receives updates of resources subscribed to later, with the URIs that the client knows", async () => {
    const server = await startServer(
      { resources: ["a://1"] },
      {
        GET: (_request, response) => {
          const { send } = stream(response);
          void server.until("resources/subscribe").then(() => {
            send({ jsonrpc: "2.0", method: "notifications/resources/updated", params: { uri: "a://1" } });
          });
        },
      },
    );
    const { features, who, ids } = await over([server.url], { freshMs: 20 });
    const uri = `patchbay://${ids[0]}/a://1`;
    const interest = { ...everything, resourceUris: new Set<string>() };
    const heard: Notification[] = [];
    const followed = features.follow(who, interest, (notification) => heard.push(notification));
    await features.subscribe(who, uri, patient());
    interest.resourceUris.add(uri);
    await followed.settle();
    await eventually(() => heard.length > 0).finally(() => followed.stop());
    expect(heard).toContainEqual({ method: "notifications/resources/updated", params: { uri } });
    expect(server.of("resources/subscribe")[0]?.message.params).toEqual({ uri: "a://1" });
  });

  it.each(["legacy", "modern"] as const)(
    "receives list changes from a server of a %s protocol revision",
    async (era) => {
      const server = await startSdkServer(era);
      onTestFinished(() => server.close());
      const { features, integration, connections, who } = await over([server.url]);
      const before = await promptNames(features, who);
      const [heard, news]: [string[], unknown[]] = [[], []];
      integration.onNotification?.((_connectionId, one) => news.push(one));
      const followed = features.follow(who, everything, ({ method }) => heard.push(method));
      onTestFinished(() => followed.stop());
      const target = await world.view.target(connections[0] ?? expect.fail("no connection"));
      const trigger = (name: string) => integration.callTool(target, toolNamed(name), {}, patient());
      // The stream opens asynchronously; changes before that are not reported.
      await eventually(async () => {
        await trigger("test_trigger_prompt_change");
        return heard.includes("notifications/prompts/list_changed");
      });
      expect((await promptNames(features, who)).length).toBeGreaterThan(before.length);
      await trigger("test_trigger_tool_change");
      await eventually(() => news.some((one) => isDeepStrictEqual(one, { kind: "list_changed", list: "tools" })));
    },
  );

  it("cannot subscribe to a resource without subscription support", async () => {
    const server = await startServer({ capabilities: { resources: {} }, resources: ["a://1"] });
    const { features, who } = await over([server.url]);
    await expect(features.subscribe(who, "a://1", patient())).rejects.toMatchObject({ kind: "invalid" });
  });
});
