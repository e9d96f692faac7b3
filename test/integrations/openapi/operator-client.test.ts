import type { Dispatcher } from "undici";
import { expect, onTestFinished, test } from "vitest";
import { authMethodsOf } from "../../../src/integrations/authentication.ts";
import type { Integration } from "../../../src/integrations/integration.ts";
import type { Target } from "../../../src/integrations/target.ts";
import { readContract } from "../../../src/integrations/openapi/contract.ts";
import type { JsonObject } from "../../../src/json.ts";
import { createGuardedDispatcher } from "../../../src/outbound/guarded-dispatcher.ts";
import type { Vendor } from "../../support/vendor.ts";
import {
  loadOperatorIntegration,
  OPERATOR_CLIENT,
  operatorContract,
  type SeenCall,
  startOperatorVendor,
} from "./operator-contract.ts";
import { textOf } from "./subject.ts";

const patient = () => ({ signal: AbortSignal.timeout(20_000) });

function target(configuration: JsonObject = { site: "blue" }, connectionId = 1): Target {
  return { accountId: "1", connectionId, keyVersion: 1, configuration, authMethod: "oauth2" };
}

interface Stage {
  readonly vendor: Vendor;
  readonly called: SeenCall[];
  readonly dispatcher: Dispatcher;
  readonly integration: Integration;
  call(connectionId?: number): Promise<string>;
}

async function startStage(text = operatorContract()): Promise<Stage> {
  const { vendor, called } = await startOperatorVendor();
  const dispatcher = createGuardedDispatcher({ allow: [vendor.host] });
  onTestFinished(async () => {
    await dispatcher.destroy();
    await vendor.close();
  });
  const integration = await loadOperatorIntegration(text, dispatcher, { baseUrl: vendor.origin });
  const [tool] = await integration.listTools(target(), patient());
  if (tool === undefined) throw new Error("there is no tool");
  const call = async (id = 1) => textOf(await integration.callTool(target(undefined, id), tool, {}, patient()));
  return { vendor, called, dispatcher, integration, call };
}

test("requests a token for the operator's client with the contract's scopes, at a URL that contains the tenant", async () => {
  const { integration, vendor, called } = await startStage();
  expect(authMethodsOf(integration)).toEqual(["none", "api_key", "oauth2"]);
  expect(integration.authorization).toBeUndefined();
  expect(await integration.verify(target(), patient())).toEqual({ outcome: "verified" });
  expect(called.map(({ subject }) => subject)).toEqual([OPERATOR_CLIENT.clientId]);
  const [request] = vendor.tokenRequests;
  expect(Object.fromEntries(request?.form ?? [])).toMatchObject({
    grant_type: "client_credentials",
    scope: "people.read people.write",
    client_secret: OPERATOR_CLIENT.clientSecret,
  });
});

test("shares one token request between concurrent calls, and never between connections", async () => {
  const { vendor, called, call } = await startStage();
  await Promise.all([call(), call(), call()]);
  expect(vendor.tokenRequests).toHaveLength(1);
  await call(2);
  expect(vendor.tokenRequests).toHaveLength(2);
  expect(new Set(called.map(({ authorization }) => authorization)).size).toBe(2);
});

test("replaces a rejected token once and repeats the call", async () => {
  const { vendor, called, call } = await startStage();
  await call();
  vendor.expireTokens();
  expect(await call()).toContain(OPERATOR_CLIENT.clientId);
  expect(called.map(({ subject }) => subject !== undefined)).toEqual([true, false, true]);
  vendor.serve = async (_request, response) => void response.writeHead(401).end();
  const before = vendor.tokenRequests.length;
  expect(await call()).toContain("401");
  expect(vendor.tokenRequests).toHaveLength(before + 1);
});

test("redacts the token and the operator's secret in every response", async () => {
  const { vendor, call } = await startStage();
  const text = await call();
  expect(text).toContain("[redacted]");
  vendor.expireTokens();
  vendor.answerToken = (request, response) => {
    response.writeHead(401, { "content-type": "application/json" });
    const description = `no ${request.form.get("client_secret") ?? ""}`;
    response.end(JSON.stringify({ error: "invalid_client", error_description: description }));
    return true;
  };
  const refusal = await call();
  expect(refusal).toContain("This installation's own client was rejected: ask its operator, or set an api_key.");
  for (const secret of [...vendor.secrets, OPERATOR_CLIENT.clientSecret]) expect(text + refusal).not.toContain(secret);
});

test("reports a rejected operator client as a temporary failure, not as a fault of the connection", async () => {
  const { vendor, integration } = await startStage();
  vendor.answerToken = (_request, response) => {
    response.writeHead(401, { "content-type": "application/json" }).end('{"error":"invalid_client"}');
    return true;
  };
  expect(await integration.verify(target(), patient())).toMatchObject({ outcome: "retry" });
  vendor.answerToken = undefined;
  expect(await integration.verify(target(), patient())).toEqual({ outcome: "verified" });
});

test("never sends the operator's secret to an address from the caller", async () => {
  const anywhere = operatorContract(
    {
      flows: { clientCredentials: { tokenUrl: "{site}/token", scopes: {} } },
    },
    { servers: [{ url: "{site}/v2", variables: { site: { default: "https://www.example.com" } } }] },
  );
  const { integration, vendor, called } = await startStage(anywhere);
  const elsewhere = { site: "https://evil.example" };
  expect(() => integration.clientAuthorization?.checkDestination(elsewhere)).toThrow("at its own address alone");
  expect(() => integration.clientAuthorization?.checkDestination({})).not.toThrow();
  expect(await integration.verify(target(elsewhere), patient())).toMatchObject({
    outcome: "retry",
    reason: expect.stringContaining("at its own address alone") as string,
  });
  expect([vendor.tokenRequests, called]).toEqual([[], []]);
});

test("requires the tenant if the token URL contains it, as a single path segment or DNS label", async () => {
  const inHost = operatorContract(
    { flows: { clientCredentials: { tokenUrl: "https://{site}.login.example.com/token", scopes: {} } } },
    { servers: [{ url: "https://{site}.example.com/v2" }] },
  );
  const { integration } = await startStage(inHost);
  const check = (configuration: JsonObject) => () => integration.clientAuthorization?.checkDestination(configuration);
  expect(check({ site: "blue" })).not.toThrow();
  expect(check({ site: "evil.example/" })).toThrow("one part of a host name");
  expect(check({})).toThrow("site is missing");
});

test("offers only the key if the operator has configured no client", async () => {
  const dispatcher = createGuardedDispatcher({ allow: [] });
  onTestFinished(() => dispatcher.destroy());
  const integration = await loadOperatorIntegration(operatorContract(), dispatcher, { client: "none" });
  expect([authMethodsOf(integration), integration.lacksClient]).toEqual([["none", "api_key"], true]);
  expect(await integration.verify(target(), patient())).toMatchObject({
    outcome: "retry",
    reason: expect.stringContaining("no longer registered") as string,
  });
});

test("prefers owner login if a contract has both flows, and rejects a flow without its URLs", () => {
  const flows = {
    clientCredentials: { tokenUrl: "https://login.example.com/token" },
    authorizationCode: {
      authorizationUrl: "https://login.example.com/authorize",
      tokenUrl: "https://login.example.com/token",
    },
  };
  const { ownerScheme, clientScheme } = readContract(operatorContract({ flows }));
  expect([ownerScheme?.token.url, clientScheme]).toEqual(["https://login.example.com/token", undefined]);
  const read = (scheme: JsonObject) => () => readContract(operatorContract(scheme));
  expect(read({ flows: {} })).toThrow("without an authorization code or client credentials flow");
  expect(read({ flows: { clientCredentials: {} } })).toThrow('without a "tokenUrl"');
  expect(read({ flows: { clientCredentials: { tokenUrl: "http://login.example.com/token" } } })).toThrow(
    "needs an https server for its tokens",
  );
  expect(read({ "x-patchbay-authorization": {} })).toThrow('needs "authentication" (basic or post)');
});
