import { describe, expect, it } from "vitest";
import { applyChange, type ConnectionChange } from "../../src/connections/change.ts";
import type { Connection } from "../../src/connections/connection.ts";
import { invalid } from "../../src/domain-error.ts";
import type { ClientAuthorization, Integration } from "../../src/integrations/integration.ts";
import { createSchemaValidator } from "../../src/integrations/schema-checks/json-schema.ts";
import type { JsonObject } from "../../src/json.ts";

const integration: Integration = {
  serverType: "acme",
  title: "Acme",
  description: "A third party.",
  configurationSchema: {
    type: "object",
    additionalProperties: false,
    required: ["company_domain", "api_token"],
    properties: {
      company_domain: { type: "string", pattern: "^[a-z]+$" },
      region: { type: "string" },
      api_token: { type: "string", writeOnly: true },
    },
  },
  secretProperties: ["api_token"],
  credentialProperty: "api_token",
  destinationProperties: ["company_domain"],
  toolSource: "fixed",
  listTools: () => Promise.resolve([]),
  callTool: () => Promise.reject(new Error("not called")),
  verify: () => Promise.resolve({ outcome: "verified" }),
};
const keyless: Integration = { ...integration, credentialProperty: undefined, secretProperties: [] };

const connection: Connection = {
  accountId: "acc_1",
  id: 7,
  serverType: "acme",
  name: "People",
  alias: "people",
  description: "",
  agentEnabled: true,
  accessType: "write",
  configuration: { company_domain: "acme", region: "eu" },
  hasCredential: true,
  verificationStatus: "verified",
  statusReason: undefined,
  keyVersion: 3,
  authMethod: "configured",
  needsAuthorization: false,
  disabledToolIds: [11],
  knownToolIds: undefined,
  acceptToolChanges: "manual",
  keepContentsDays: 0,
  callIdleSeconds: 0,
  callMaxSeconds: 0,
  acceptedDefinitions: undefined,
  changedTools: 0,
  oauthClientId: "conn_7_x",
  createdAt: new Date(0),
  updatedAt: new Date(0),
};
const secrets: JsonObject = { api_token: "old-secret" };

function change(wanted: ConnectionChange, before = connection, party = integration) {
  return applyChange(before, wanted, {
    integration: party,
    validator: createSchemaValidator(),
    secrets,
    toolIds: [10, 11, 12],
  });
}

describe("a change of a connection", () => {
  it("keeps every field that is not supplied", () => {
    const { after, effects } = change({ agentEnabled: false });
    expect(after).toEqual({ ...connection, agentEnabled: false });
    expect(effects).toEqual({});
  });

  it("returns the same connection when nothing changes", () => {
    expect(change({}).after).toBe(connection);
    expect(change({ name: "People", accessType: "write", disabledTools: [11] }).after).toBe(connection);
  });

  it("sets the verification to pending and increments the key version when a key is supplied, even the same one", () => {
    const { after, effects } = change({ apiKey: "old-secret" });
    expect(after).toMatchObject({ verificationStatus: "pending", keyVersion: 4, hasCredential: true });
    expect(effects).toEqual({ secrets: { api_token: "old-secret" }, verify: true, forgetTools: false });
  });

  it.each(["admin", "", "READ", "toString"])(
    "refuses the access type %j with the specification's text",
    (accessType) => {
      expect(() => change({ accessType })).toThrow("Invalid access type specified");
    },
  );

  it("revokes the client's access only when the access type narrows to read", () => {
    expect(change({ accessType: "read" }).effects).toEqual({ clientScopes: ["mcp.read"], endClientAccess: true });
    expect(change({ accessType: "individual" }).effects.endClientAccess).toBe(false);
    const reading = { ...connection, accessType: "read" as const };
    expect(change({ accessType: "write" }, reading).effects).toEqual({
      clientScopes: ["mcp.read", "mcp.write"],
      endClientAccess: false,
    });
  });

  it("records the current tools as known under individual, and clears them for another access type", () => {
    const { after } = change({ accessType: "individual" });
    expect(after.knownToolIds).toEqual([10, 11, 12]);
    expect(change({ accessType: "write" }, after).after.knownToolIds).toBeUndefined();
  });

  it("replaces the disabled tools, sorted and without duplicates, and clears them with an empty list", () => {
    expect(change({ disabledTools: [12, 10, 12] }).after.disabledToolIds).toEqual([10, 12]);
    expect(change({ disabledTools: [] }).after.disabledToolIds).toEqual([]);
  });

  it("rejects an unknown disabled tool, but accepts a disabled one that was removed", () => {
    expect(() => change({ disabledTools: [99] })).toThrow(
      "disabled_tools: 99 is not the id of a tool of this connection.",
    );
    const before = { ...connection, disabledToolIds: [77] };
    expect(change({ disabledTools: [77, 10] }, before).after.disabledToolIds).toEqual([10, 77]);
  });

  it("replaces only the configuration keys it names, and keeps the secret", () => {
    const { after, effects } = change({ configuration: { region: "us" } });
    expect(after.configuration).toEqual({ company_domain: "acme", region: "us" });
    expect(after).toMatchObject({ verificationStatus: "verified", keyVersion: 3 });
    expect(effects).toEqual({});
  });

  it("removes an optional configuration key that is null", () => {
    expect(change({ configuration: { region: null } }).after.configuration).toEqual({ company_domain: "acme" });
  });

  it("rejects another destination unless the secret is supplied again", () => {
    expect(() => change({ configuration: { company_domain: "evil" } })).toThrow(/supply api_token again/);
    for (const again of [{ apiKey: "new" }, {}]) {
      const configuration = { company_domain: "other", ...("apiKey" in again ? {} : { api_token: "new" }) };
      const { after, effects } = change({ configuration, ...again });
      expect(after).toMatchObject({
        configuration: { company_domain: "other" },
        verificationStatus: "pending",
        keyVersion: 4,
      });
      expect(effects).toEqual({ secrets: { api_token: "new" }, verify: true, forgetTools: true });
    }
  });

  it("replaces the owner's authorization by a key", () => {
    const authorized = { ...connection, authMethod: "oauth2", needsAuthorization: true } as const;
    const { after, effects } = change({ apiKey: "new" }, authorized);
    expect(after).toMatchObject({ authMethod: "configured", needsAuthorization: false, verificationStatus: "pending" });
    expect(effects).toMatchObject({ endAuthorization: true, verify: true });
  });

  it("requires a new authorization when the destination of an authorized connection changes", () => {
    const authorized = { ...connection, authMethod: "oauth2", hasCredential: false } as const;
    const decided = applyChange(
      authorized,
      { configuration: { company_domain: "other" } },
      { integration, validator: createSchemaValidator(), secrets: {}, toolIds: [] },
    );
    expect(decided.after).toMatchObject({
      authMethod: "oauth2",
      needsAuthorization: true,
      verificationStatus: "pending",
    });
    expect(decided.effects).toMatchObject({ endAuthorization: true, verify: false, forgetTools: true });
  });

  it("keeps using the operator's client at another destination that the client allows", () => {
    const clientAuthorization: ClientAuthorization = {
      checkDestination: ({ region }) => {
        if (region !== "eu") throw invalid("region", "region must be eu.");
      },
    };
    const moveTo = (region: string) =>
      applyChange(
        { ...connection, authMethod: "oauth2", hasCredential: false, verificationStatus: "failed" },
        { configuration: { company_domain: "other", region } },
        {
          integration: { ...integration, clientAuthorization },
          validator: createSchemaValidator(),
          secrets: {},
          toolIds: [],
        },
      );
    const { after, effects } = moveTo("eu");
    expect(after).toMatchObject({ authMethod: "oauth2", needsAuthorization: false, verificationStatus: "pending" });
    expect([after.statusReason, effects.verify]).toEqual([undefined, true]);
    expect(() => moveTo("us")).toThrow("region must be eu.");
  });

  it("never lets a secret into the visible configuration", () => {
    expect(change({ configuration: { api_token: "canary" } }).after.configuration).toEqual(connection.configuration);
  });

  it.each<[string, ConnectionChange, string]>([
    ["an unknown configuration key", { configuration: { color: "red" } }, "config"],
    ["a configuration value of the wrong form", { configuration: { company_domain: "a/b", api_token: "x" } }, "config"],
    ["two keys that differ", { apiKey: "a", configuration: { api_token: "b" } }, "api_key"],
    ["an empty key", { apiKey: "" }, "api_key"],
    ["a key with a line break", { apiKey: "a\r\nX: y" }, "api_key"],
    ["an empty name", { name: " " }, "name"],
    ["a name of 256 characters", { name: "x".repeat(256) }, "name"],
    ["a description of 2,001 characters", { description: "x".repeat(2001) }, "description"],
    ["a short client secret", { clientSecret: "short" }, "oauth2_client_secret"],
    ["another connection's id", { connectionId: "8" }, "connection_id"],
    ["contents kept for 31 days", { keepContentsDays: 31 }, "keep_contents_days"],
    ["contents kept for -1 days", { keepContentsDays: -1 }, "keep_contents_days"],
    ["contents kept for half a day", { keepContentsDays: 0.5 }, "keep_contents_days"],
  ])("refuses %s and names the field", (_what, wanted, field) => {
    expect(() => change(wanted)).toThrow(expect.objectContaining({ kind: "invalid", field }));
  });

  it("revokes the client's access when its secret is replaced", () => {
    const clientSecret = "s".repeat(32);
    expect(change({ clientSecret }).effects).toEqual({ clientSecret, endClientAccess: true });
  });

  it.each([
    ["turned on, which is written down", 0, 7, { contentsChange: "on" }],
    [
      "turned off, which is written down and deletes what there is",
      7,
      0,
      { contentsChange: "off", purgeContents: true },
    ],
    ["shortened, which deletes what is older", 7, 3, { purgeContents: true }],
    ["prolonged, which deletes nothing", 3, 7, {}],
    ["left as it is", 7, 7, {}],
  ] as const)("the keeping of contents can be %s", (_what, before, keepContentsDays, effects) => {
    const decided = change({ keepContentsDays }, { ...connection, keepContentsDays: before });
    expect([decided.after.keepContentsDays, decided.effects]).toEqual([keepContentsDays, effects]);
  });

  it("rejects a key for an integration without keys", () => {
    expect(() => change({ apiKey: "x" }, connection, keyless)).toThrow(/have no key/);
  });
});
