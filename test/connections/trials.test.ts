import { expect, test } from "vitest";
import type { Principal } from "../../src/identity/principal.ts";
import { createTrials } from "../../src/connections/trials.ts";
import { createSchemaValidator } from "../../src/integrations/schema-checks/json-schema.ts";

const { signal } = new AbortController();

function principal(accountId: string): Principal {
  return {
    accountId,
    clientId: "c",
    scopes: new Set(["mgmt.write"]),
    connectionId: undefined,
    grantId: undefined,
    memberId: undefined,
    role: undefined,
    connectionIds: undefined,
    tokenId: "t",
    audience: "a",
    issuedAt: 0,
    expiresAt: undefined,
  };
}

test("an account above its trial limit gets a retry time, and other accounts are not limited", async () => {
  const asked: number[] = [];
  const trials = createTrials({
    catalog: new Map([
      [
        "acme",
        {
          serverType: "acme",
          title: "Acme",
          description: "",
          configurationSchema: { type: "object", properties: {}, additionalProperties: false },
          secretProperties: [],
          credentialProperty: undefined,
          destinationProperties: [],
          toolSource: "per_connection" as const,
          listTools: () => Promise.resolve([]),
          callTool: () => Promise.reject(new Error("not called")),
          verify: ({ connectionId }) => {
            asked.push(connectionId);
            return Promise.resolve({ outcome: "verified" as const });
          },
        },
      ],
    ]),
    validator: createSchemaValidator(),
    maxTrialsPerMinute: 2,
  });
  const trial = { serverType: "acme", configuration: {} };
  for (let count = 0; count < 2; count += 1)
    expect(await trials.validate(principal("a"), trial, signal)).toMatchObject({ errors: [] });
  const refused = await trials.validate(principal("a"), trial, signal).catch((error: unknown) => error);
  expect(refused).toMatchObject({ kind: "exhausted", retryAfterSeconds: expect.any(Number) });
  await expect(trials.previewTools(principal("a"), trial, signal)).rejects.toMatchObject({ kind: "exhausted" });
  expect(await trials.validate(principal("b"), trial, signal)).toMatchObject({ errors: [] });
  // Never the id of a connection.
  expect(asked.every((id) => id < 0) && new Set(asked).size === 3).toBe(true);
});
