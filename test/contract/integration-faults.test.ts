import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { parse, stringify } from "yaml";
import type { JsonObject } from "../../src/json.ts";
import { integrationFaults } from "./integration-faults.ts";

const FOLDER = "openapi/integrations";
const SLACK = readFileSync(join(FOLDER, "slack.yaml"), "utf8");
const GITLAB = readFileSync(join(FOLDER, "gitlab.yaml"), "utf8");

/** The faults of a contract with one change. */
function faultsOf(text: string, path: readonly string[], value: unknown): readonly string[] {
  const root = parse(text) as JsonObject;
  const parent = path.slice(0, -1).reduce((object, key) => object[key] as JsonObject, root);
  const last = path.at(-1) ?? "";
  if (value === undefined) delete parent[last];
  else parent[last] = value as JsonObject;
  const name = (root["x-patchbay-integration"] as JsonObject)["server_type"] as string;
  return integrationFaults(`${name}.yaml`, stringify(root));
}

test.each(readdirSync(FOLDER).filter((name) => name.endsWith(".yaml")))("%s has no faults", (file) => {
  expect(integrationFaults(file, readFileSync(join(FOLDER, file), "utf8"))).toEqual([]);
});

describe("the lint reports faults:", () => {
  const extension = "x-patchbay-integration";
  const operation = ["paths", "/api/users.info", "post"];
  const token = [extension, "configuration", "properties", "token"];

  it.each<[string, readonly string[], unknown, string]>([
    ["sources", ["x-source"], undefined, 'needs "x-source"'],
    ["an empty source", ["x-source"], [""], 'needs "x-source"'],
    ["the extension", [extension], {}, 'needs "server_type"'],
    ["a category", [extension, "category"], undefined, 'needs a "category"'],
    ["a documentation link", [extension, "documentation_url"], "http://x.test", "documentation_url"],
    ["a credential", [extension, "credential"], undefined, 'needs to name its "credential"'],
    ["a verification", [extension, "verification"], "nothing", 'the verification "nothing"'],
    ["a title of a property", [...token, "title"], undefined, '"token" needs a title'],
    ["a description of a property", [...token, "description"], "A key.", '"token" needs a description'],
    ["a limit of a property", token, { type: "string", title: "Token", writeOnly: true }, '"token" needs a limit'],
    ["a tag's description", ["tags"], [{ name: "people" }], 'a description of the tag "people"'],
    ["the tag itself", [...operation, "tags"], ["persons"], "get_user needs a tag from the document's tags"],
    ["a summary", [...operation, "summary"], undefined, "get_user needs a summary"],
    ["a description", [...operation, "description"], "One.", "get_user needs a description"],
    ["an operationId", [...operation, "operationId"], "getUser", "getUser needs an operationId"],
    ["the read-only mark", [...operation, "x-patchbay-read-only"], undefined, "get_user reads by its name"],
    ["a writing method for a deletion", [...operation, "operationId"], "delete_user", "delete_user writes by its name"],
    ["a refusal", [...operation, "responses", "429"], undefined, "get_user needs an answer for refusals"],
    [
      "an example",
      ["components", "responses", "User", "content", "application/json", "example"],
      undefined,
      "get_user needs an example of its 200 answer",
    ],
    ["a security scheme", ["security"], [], "needs a security scheme"],
    ["a server URL with a path", ["servers"], [{ url: "https://slack.com/api" }], "an https host alone"],
  ])("%s", (_title, path, value, fault) => {
    expect(faultsOf(SLACK, path, value).join("\n")).toContain(fault);
  });

  it("a secret that is not marked as one", () => {
    const properties = { token: { type: "string" }, api_key: { type: "string" } };
    const faults = faultsOf(SLACK, [extension, "configuration", "properties"], {
      ...properties,
      token: { ...properties.token, writeOnly: true },
    });
    expect(faults.join("\n")).toContain('"api_key" sounds secret');
  });

  it("too few operations", () => {
    const paths = { "/api/auth.test": (parse(SLACK) as { paths: JsonObject }).paths["/api/auth.test"] };
    expect(faultsOf(SLACK, ["paths"], paths)).toEqual(["has 1 operations; 8 are wanted"]);
  });

  it("a configurable address without TLS", () => {
    const pattern = [extension, "configuration", "properties", "base_url", "pattern"];
    expect(faultsOf(GITLAB, pattern, "^https?://.*$").join("\n")).toContain("must begin with ^https://");
  });

  it("a name that differs from the file name", () => {
    expect(integrationFaults("chat.yaml", SLACK)).toEqual(["is not named after its server_type, slack.yaml"]);
  });
});
