import { Agent } from "undici";
import { afterAll, expect, test } from "vitest";
import { prepareConnection } from "../../src/connections/create.ts";
import { createSchemaValidator } from "../../src/integrations/schema-checks/json-schema.ts";
import type { JsonObject } from "../../src/json.ts";
import { loadOperatorIntegration, operatorContract } from "../integrations/openapi/operator-contract.ts";

const dispatcher = new Agent();
afterAll(() => dispatcher.close());

test("a connection of the operator's client needs no login and can only reach the vendor", async () => {
  const anywhere = operatorContract(
    { flows: { clientCredentials: { tokenUrl: "https://login.example.com/token", scopes: {} } } },
    { servers: [{ url: "{site}/v2", variables: { site: { default: "https://www.example.com" } } }] },
  );
  const acme = await loadOperatorIntegration(anywhere, dispatcher, {});
  const prepare = (configuration: JsonObject, authMethod?: string) =>
    prepareConnection(
      "acc_1",
      { serverType: "acme", configuration, authMethod },
      new Map([["acme", acme]]),
      createSchemaValidator(),
    );
  expect(prepare({}, "oauth2")).toMatchObject({
    authMethod: "oauth2",
    needsAuthorization: false,
    statusReason: undefined,
  });
  expect(() => prepare({ site: "https://evil.example" }, "oauth2")).toThrow(
    "Acme is reached by OAuth at its own address",
  );
  expect(prepare({ site: "https://own.example", api_token: "the-key" })).toMatchObject({
    authMethod: "configured",
    needsAuthorization: false,
  });
});
