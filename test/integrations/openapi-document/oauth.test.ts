import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/json.ts";
import { createSchemaValidator } from "../../../src/integrations/schema-checks/json-schema.ts";
import { OPENAPI_CONFIGURATION_SCHEMA } from "../../../src/integrations/openapi-document/configuration.ts";
import {
  CLIENT_ID,
  CLIENT_SECRET,
  startAuthorizationServer,
  type AuthorizationServer,
} from "../oauth/authorization-server.ts";
import { createWorld, documentOf, options, type Site, startSite, type World } from "./support.ts";

let world: World;
let server: AuthorizationServer;
let site: Site;

beforeAll(async () => {
  [world, server, site] = await Promise.all([createWorld(), startAuthorizationServer(), startSite()]);
});
afterAll(async () => {
  await site.close();
  await server.close();
  await world.close();
});
beforeEach(() => {
  world.integration.forget?.(1);
  server.tokenRequests.length = 0;
  server.served.length = 0;
  server.refused = 0;
  site.requests.length = 0;
});

const CLIENT = { client_id: CLIENT_ID, api_token: CLIENT_SECRET };

/** A document whose API accepts the tokens of the authorization server. */
function withTokens(tokenUrl: string | undefined, more: JsonObject = {}): JsonObject {
  const flows = tokenUrl === undefined ? {} : { clientCredentials: { tokenUrl, scopes: {} } };
  return documentOf({
    servers: [{ url: `${server.url}/api` }],
    components: { securitySchemes: { oauth: { type: "oauth2", flows } } },
    security: [{ oauth: [] }],
    ...more,
  });
}

describe("the client credentials of a document", () => {
  test("request a token at the document's token URL for a connection with a client_id", async () => {
    const spec = withTokens(`${server.url}/oauth/token`);
    for (let turn = 0; turn < 3; turn += 1)
      expect(await world.call({ spec, ...CLIENT, scope: "read" }, "list_things")).toMatchObject({ isError: false });
    expect(server.tokenRequests).toHaveLength(1);
    expect(server.served.map(({ path, scope }) => `${path} ${scope}`)).toEqual(
      Array.from({ length: 3 }, () => "/api/things read"),
    );
    const target = world.target({ spec, ...CLIENT });
    expect(await world.integration.verify(target, options)).toEqual({ outcome: "verified" });
    const wrong = world.target({ spec, ...CLIENT, api_token: "wrong" }, -1);
    expect(await world.integration.verify(wrong, options)).toMatchObject({
      outcome: "failed",
      reason: expect.stringContaining("invalid_client"),
    });
  });

  test("are supported in Swagger 2.0", async () => {
    const { host } = new URL(server.url);
    const spec: JsonObject = {
      swagger: "2.0",
      info: { title: "Old", version: "1" },
      host,
      basePath: "/api",
      schemes: ["http"],
      securityDefinitions: {
        app: { type: "oauth2", flow: "application", tokenUrl: `${server.url}/oauth/token`, scopes: {} },
      },
      security: [{ app: [] }],
      paths: { "/old": { get: { operationId: "list_old", responses: { "200": { description: "ok" } } } } },
    };
    expect(await world.call({ spec, ...CLIENT }, "list_old")).toMatchObject({ isError: false });
    expect(server.served).toHaveLength(1);
  });

  test("are not used without a client_id: the key is then sent as the token", async () => {
    const spec = withTokens(`${server.url}/oauth/token`);
    await world.call({ spec, api_token: "a-token-of-my-own" }, "list_things");
    expect([server.tokenRequests.length, server.refused]).toEqual([0, 1]);
  });

  test("are not used for operations that the document declares without security", async () => {
    const spec = withTokens(`${server.url}/oauth/token`, { security: [] });
    await world.call({ spec, ...CLIENT }, "list_things");
    expect(server.tokenRequests).toHaveLength(0);
  });

  test("use token_url if it is configured, and request no token without a token URL", async () => {
    const spec = withTokens(undefined);
    expect(await world.call({ spec, ...CLIENT }, "list_things")).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/names no token URL.*set token_url/) }],
    });
    const token_url = `${server.url}/oauth/token`;
    expect(await world.call({ spec, ...CLIENT, token_url }, "list_things")).toMatchObject({ isError: false });
  });

  test("never send the secret to another site that a fetched document names", async () => {
    site.document = withTokens(`${server.url}/oauth/token`, { info: { title: "Elsewhere", version: "2" } });
    const configuration = { spec_url: `${site.url}/openapi.json`, base_url: `${site.url}/v1`, ...CLIENT };
    expect(await world.call(configuration, "list_things")).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/token URL is on another site.*set token_url/) }],
    });
    expect(server.tokenRequests).toEqual([]);
    // The owner configured the site of base_url.
    const named = { ...configuration, base_url: `${server.url}/api` };
    expect(await world.call(named, "list_things")).toMatchObject({ isError: false });
  });
});

describe("the configuration", () => {
  const check = (configuration: JsonObject) => () => world.integration.checkConfiguration?.(configuration);

  test("requires client_id if token_url or scope is set", () => {
    const spec_url = "https://api.example.com/openapi.json";
    expect(check({ spec_url, token_url: "https://api.example.com/token" })).toThrow(/client_id is missing/);
    expect(check({ spec_url, scope: "read" })).toThrow(/client_id is missing/);
    expect(check({ spec_url, ...CLIENT, scope: "read" })).not.toThrow();
  });

  test("accepts scopes in the syntax of RFC 6749", () => {
    const validator = createSchemaValidator();
    const fault = (scope: string) => validator.validateOwn(OPENAPI_CONFIGURATION_SCHEMA, { scope });
    expect([fault("read write:all https://x.test/.default")]).toEqual([undefined]);
    for (const scope of ["", " read", "a  b", 'a"b', "a\\b", "a\n"]) expect(fault(scope), scope).toBeDefined();
  });

  test("treats token_url as a destination of the secret", () => {
    expect(world.integration.destinationProperties).toContain("token_url");
  });
});
