import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSchemaValidator } from "../../../src/integrations/schema-checks/json-schema.ts";
import { readContract } from "../../../src/integrations/openapi/contract.ts";
import { serverAddress } from "../../../src/integrations/openapi/requests/server-address.ts";
import type { JsonObject } from "../../../src/json.ts";
import { createSubject, textOf } from "./subject.ts";
import { json } from "./upstream.ts";

const KEY = "xoxb-0123456789-abcdef";

let server: Server;
let url: string;
let seen: { request: IncomingMessage; body: string } | undefined;
let answer: unknown = { ok: true };

beforeAll(async () => {
  server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString("utf8")));
    request.on("end", () => {
      seen = { request, body };
      json(response, 200, answer);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
});

function textFor(name: string): string {
  return readFileSync(`openapi/integrations/${name}.yaml`, "utf8");
}

describe("sends the key and version header where each vendor expects them", () => {
  const jira = Buffer.from(`ava@example.com:${KEY}`).toString("base64");

  it.each<[string, string, JsonObject, JsonObject]>([
    ["github", "/user", { token: KEY }, { authorization: `Bearer ${KEY}`, "x-github-api-version": "2022-11-28" }],
    ["gitlab", "/api/v4/user", { token: KEY }, { "private-token": KEY }],
    [
      "jira",
      "/rest/api/2/myself",
      { site: "acme", email: "ava@example.com", api_token: KEY },
      { authorization: `Basic ${jira}` },
    ],
    ["notion", "/v1/users/me", { token: KEY }, { authorization: `Bearer ${KEY}`, "notion-version": "2025-09-03" }],
    ["slack", "/api/auth.test", { token: KEY }, { authorization: `Bearer ${KEY}` }],
    ["hubspot", "/account-info/v3/details", { token: KEY }, { authorization: `Bearer ${KEY}` }],
    [
      "stripe",
      "/v1/balance",
      { api_key: "rk_test_0123456789" },
      { authorization: "Bearer rk_test_0123456789", "stripe-version": "2026-10-28.endive" },
    ],
    ["airtable", "/v0/meta/whoami", { token: KEY }, { authorization: `Bearer ${KEY}` }],
    ["asana", "/api/1.0/users/me", { token: KEY }, { authorization: `Bearer ${KEY}` }],
    [
      "bamboohr",
      "/api/v1/company_information",
      { company_domain: "acme", api_token: KEY },
      { authorization: `Basic ${Buffer.from(`${KEY}:x`).toString("base64")}` },
    ],
  ])("%s", async (name, path, configuration, headers) => {
    const subject = createSubject(textFor(name), url, { configuration });
    expect(await subject.verify()).toEqual({ outcome: "verified" });
    expect(seen?.request.url).toBe(path);
    expect(seen?.request.headers).toMatchObject(headers);
    // Sent in one place only.
    const [[place, value] = ["", ""]] = Object.entries(headers);
    const { [place]: _, ...others } = seen?.request.headers ?? {};
    const key = String(value).replace(/^(Bearer|Basic) /, "");
    for (const secret of [key, KEY])
      expect(`${JSON.stringify(others)}${seen?.request.url ?? ""}${seen?.body ?? ""}`).not.toContain(secret);
    await subject.close();
  });
});

describe("Slack's answers", () => {
  it("fails the verification for an unknown token, with Slack's error code", async () => {
    const subject = createSubject(textFor("slack"), url, { configuration: { token: KEY } });
    answer = { ok: false, error: "invalid_auth" };
    expect(await subject.verify()).toEqual({
      outcome: "failed",
      reason: expect.stringContaining("invalid_auth") as string,
    });
    answer = { ok: false, error: "not_in_channel" };
    const result = await subject.call("send_message", { channel: "C012AB3CD", text: "Hello, *all* & <@U012AB3CD>" });
    expect(result.isError).toBe(true);
    expect(textOf(result)).toContain("not_in_channel");
    expect(seen?.body).toBe("channel=C012AB3CD&text=Hello%2C%20%2Aall%2A%20%26%20%3C%40U012AB3CD%3E");
    answer = { ok: true };
    await subject.close();
  });
});

describe("a self-hosted address", () => {
  const validator = createSchemaValidator();

  it.each([
    ["github", {}, "https://api.github.com", ""],
    ["github", { base_url: "https://github.example.com/api/v3" }, "https://github.example.com", "/api/v3"],
    ["github", { base_url: "https://api.acme.ghe.com/" }, "https://api.acme.ghe.com", ""],
    ["gitlab", {}, "https://gitlab.com", ""],
    ["gitlab", { base_url: "https://gitlab.example.com:8443/git" }, "https://gitlab.example.com:8443", "/git"],
    ["jira", { site: "Acme", email: "ava@example.com" }, "https://acme.atlassian.net", ""],
  ])("sends %s with the configuration %j to %s%s", (name, more, origin, basePath) => {
    const contract = readContract(textFor(name));
    const configuration = { [contract.credentialProperty ?? ""]: KEY, ...more };
    expect(validator.validateOwn(contract.configurationSchema, configuration)).toBeUndefined();
    expect(serverAddress(contract.verification.server, configuration)).toEqual({ origin, basePath });
  });

  it.each(["github", "gitlab"])("rejects plain http, a user or a query in the address of %s", (name) => {
    const { configurationSchema, destinationProperties } = readContract(textFor(name));
    expect(destinationProperties).toEqual(["base_url"]);
    for (const base_url of [
      "http://git.example.com",
      "https://a:b@git.example.com",
      "https://git.example.com/?x=1",
      "https://git.example.com/#x",
      "https://git.example.com\n",
      "https://",
      "git.example.com",
    ])
      expect(validator.validateOwn(configurationSchema, { token: KEY, base_url }), base_url).toContain('"base_url"');
  });

  it.each(["acme.evil.com", "acme/", "acme@evil", "acme:8080", "", "acme%2e"])("rejects the Jira site %j", (site) => {
    const { configurationSchema, verification } = readContract(textFor("jira"));
    const configuration = { site, email: "ava@example.com", api_token: KEY };
    expect(validator.validateOwn(configurationSchema, configuration)).toContain('"site"');
    expect(() => serverAddress(verification.server, configuration)).toThrow("site");
  });
});
