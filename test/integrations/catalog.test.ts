import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent } from "undici";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { loadCatalog, unknownServerType } from "../../src/integrations/catalog/load-catalog.ts";
import type { Catalog, Integration } from "../../src/integrations/integration.ts";
import type { JsonObject } from "../../src/json.ts";
import { contractText } from "./openapi/subject.ts";

const dispatcher = new Agent();
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "patchbay-catalog-"));
  return () => rm(folder, { recursive: true });
});
afterAll(() => dispatcher.close());

function load(baseUrls: Record<string, string> = {}, others: Integration[] = []): Promise<Catalog> {
  return loadCatalog({ folder, dispatcher, baseUrls: new Map(Object.entries(baseUrls)), others });
}

/** A valid contract with one change. */
function contract(change: (root: { [key: string]: never }) => void): string {
  const root = parse(contractText({})) as { [key: string]: never };
  change(root);
  return stringify(root);
}

describe("the catalog contains every contract of the folder", () => {
  it("adds each contract to the integrations that are implemented in code", async () => {
    await writeFile(join(folder, "acme.yaml"), contractText({}));
    await writeFile(join(folder, "notes.txt"), "not a contract");
    const first = (await load()).get("acme");
    if (first === undefined) throw new Error("acme is missing");
    const other = { ...first, serverType: "mcp" };
    const catalog = await load({ acme: "http://127.0.0.1:1" }, [other]);
    expect([...catalog.keys()]).toEqual(["mcp", "acme"]);
    expect(catalog.get("acme")).toMatchObject({ title: "Acme", toolSource: "fixed", credentialProperty: "api_token" });
  });

  it("rejects two implemented integrations with the same server_type", async () => {
    await writeFile(join(folder, "acme.yaml"), contractText({}));
    const acme = (await load()).get("acme");
    if (acme === undefined) throw new Error("acme is missing");
    const local = { ...acme, serverType: "local" };
    await expect(load({}, [local, { ...local }])).rejects.toThrow('two integrations have the server_type "local"');
  });

  it("loads the contracts of the repository", async () => {
    const catalog = await loadCatalog({ folder: "openapi/integrations", dispatcher, baseUrls: new Map(), others: [] });
    expect([...catalog.keys()]).toContain("bamboohr");
  });
});

describe("rejects an invalid contract at the start, naming the file and the fault", () => {
  type Root = Record<string, JsonObject>;
  it.each<[string, (root: Root) => void, string]>([
    ["no extension", (root) => delete root["x-patchbay-integration"], 'has no "x-patchbay-integration"'],
    ["no server_type", (root) => delete root["x-patchbay-integration"]?.["server_type"], 'needs "server_type"'],
    [
      "a bad server_type",
      (root) => Object.assign(root["x-patchbay-integration"] ?? {}, { server_type: "A b" }),
      'needs "server_type" in the form',
    ],
    ["no title", (root) => delete root["info"]?.["title"], 'needs "title"'],
    [
      "an open configuration",
      (root) => delete (root["x-patchbay-integration"]?.["configuration"] as JsonObject)["additionalProperties"],
      "additionalProperties: false",
    ],
    [
      "a credential that is not a secret",
      (root) => Object.assign(root["x-patchbay-integration"] ?? {}, { credential: "site" }),
      'the credential "site"',
    ],
    [
      "an unknown destination",
      (root) => Object.assign(root["x-patchbay-integration"] ?? {}, { destination: ["host"] }),
      'the destination "host"',
    ],
    [
      "an unknown verification",
      (root) => Object.assign(root["x-patchbay-integration"] ?? {}, { verification: "you" }),
      'the verification "you"',
    ],
    [
      "a verification that writes",
      (root) =>
        Object.assign(root["paths"]?.["/me"] ?? {}, { post: { operationId: "w" } }) &&
        Object.assign(root["x-patchbay-integration"] ?? {}, { verification: "w" }),
      "must only read",
    ],
    [
      "a dangling reference",
      (root) => Object.assign(root["paths"] ?? {}, { "/x": { get: { parameters: [{ $ref: "#/nowhere" }] } } }),
      "dangling reference: #/nowhere",
    ],
    [
      "an address variable that is not a destination",
      (root) => Object.assign(root["x-patchbay-integration"] ?? {}, { destination: [] }),
      '"destination" must name it',
    ],
    [
      "a plain http address",
      (root) => Object.assign(root, { servers: [{ url: "http://x.test" }] }),
      "needs an https server",
    ],
    [
      "an address variable without a value",
      (root) => Object.assign(root, { servers: [{ url: "https://{tenant}.test" }] }),
      "tenant",
    ],
  ])("%s", async (_title, change, message) => {
    await writeFile(
      join(folder, "acme.yaml"),
      contract((root) => {
        change(root);
      }),
    );
    await expect(load()).rejects.toThrow(message);
    await expect(load()).rejects.toThrow("acme.yaml");
  });

  it("rejects two files with the same server_type", async () => {
    await writeFile(join(folder, "a.yaml"), contractText({}));
    await writeFile(join(folder, "b.yaml"), contractText({}));
    await expect(load()).rejects.toThrow('b.yaml: the server_type "acme" is taken already');
  });

  it("rejects an override for an unknown server_type", async () => {
    await writeFile(join(folder, "acme.yaml"), contractText({}));
    await expect(load({ acne: "http://x" })).rejects.toThrow(
      'INTEGRATION_BASE_URLS: unknown server_type "acne"; did you mean "acme"? Known: acme.',
    );
  });

  it("rejects an override that is not a URL", async () => {
    await writeFile(join(folder, "acme.yaml"), contractText({}));
    await expect(load({ acme: "not an address" })).rejects.toThrow("web address");
  });
});

describe("an unknown server_type", () => {
  const catalog: Catalog = new Map(["bamboohr", "mcp", "github"].map((name) => [name, {} as Integration]));

  it.each<[string, string]>([
    ["bambohr", 'unknown server_type "bambohr"; did you mean "bamboohr"? Known: bamboohr, github, mcp.'],
    ["GitHub", 'unknown server_type "GitHub"; did you mean "github"? Known: bamboohr, github, mcp.'],
    ["salesforce", 'unknown server_type "salesforce". Known: bamboohr, github, mcp.'],
    ["a\n\u0000b", 'unknown server_type "a??b". Known: bamboohr, github, mcp.'],
  ])("%j returns an error that names the nearest server_type", (wrong, message) => {
    const error = unknownServerType(wrong, catalog);
    expect(error).toMatchObject({ kind: "invalid", field: "server_type", message });
  });
});
