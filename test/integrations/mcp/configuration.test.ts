import { Ajv } from "ajv";
import { describe, expect, it, onTestFinished } from "vitest";
import type { JsonObject } from "../../../src/json.ts";
import { createSubject } from "./support.ts";

function subject() {
  const { integration, close } = createSubject([]);
  onTestFinished(close);
  return integration;
}

const check = (configuration: JsonObject) =>
  subject().checkConfiguration?.({ url: "https://mcp.example.com/mcp", ...configuration });

describe("rejects an invalid configuration and names the property", () => {
  it.each<[string, JsonObject, string]>([
    ["with a private address", { url: "https://10.0.0.1/mcp" }, "url"],
    ["with plain http", { url: "http://mcp.example.com/mcp" }, "url"],
    ["with a password in the address", { url: "https://a:b@mcp.example.com/" }, "url"],
    ["with a line break in the key", { api_token: "a\r\nX: y" }, "api_token"],
    ["with a space in the key", { api_token: "a b" }, "api_token"],
    ["with a client's secret and no client", { oauth_client_secret: "a" }, "oauth_client_id"],
    ["with a line break in the client", { oauth_client_id: "a\nb" }, "oauth_client_id"],
    ["with a line break in its secret", { oauth_client_id: "a", oauth_client_secret: "b\r\n" }, "oauth_client_secret"],
    ["with two spaces between scopes", { oauth_scope: "a  b" }, "oauth_scope"],
    ["with a line break in a header", { headers: { "X-A": "a\r\nX: y" } }, "headers"],
    ["with letters that no header carries", { headers: { "X-A": "ü" } }, "headers"],
    ["with a name that is no token", { headers: { "X A": "a" } }, "headers"],
    ["with an empty name", { headers: { "": "a" } }, "headers"],
    ["with a name given twice", { headers: { "X-A": "1", "x-a": "2" } }, "headers"],
    ...[
      "Host",
      "cookie",
      "AUTHORIZATION",
      "Connection",
      "Keep-Alive",
      "Transfer-Encoding",
      "TE",
      "Trailer",
      "Upgrade",
      "Expect",
      "Proxy-Authorization",
      "Content-Length",
      "Content-Type",
      "Accept",
      "Accept-Encoding",
      "Mcp-Session-Id",
      "MCP-Protocol-Version",
      "Last-Event-ID",
    ].map((name): [string, JsonObject, string] => [`with the header ${name}`, { headers: { [name]: "x" } }, "headers"]),
  ])("%s", (_title, configuration, field) => {
    expect(() => check(configuration)).toThrow(expect.objectContaining({ kind: "invalid", field }) as Error);
  });

  it("never quotes the secret in the error", () => {
    for (const configuration of [{ api_token: "canary\n" }, { headers: { "X-A": "canary\n" } }]) {
      expect(() => check(configuration)).toThrow(
        expect.objectContaining({ message: expect.not.stringContaining("canary") as string }) as Error,
      );
    }
  });
});

it("accepts a valid configuration", () => {
  expect(() =>
    check({ api_token: "abc.DEF-123_~+/=", headers: { "X-Tenant": "one two", "User-Agent": "mine" } }),
  ).not.toThrow();
});

it("the schema allows only url, api_token, headers and login properties, and limits the headers", () => {
  const { configurationSchema } = subject();
  const validate = new Ajv({ formats: { uri: true } }).compile(configurationSchema);
  const url = "https://mcp.example.com/mcp";
  expect(validate({ url, api_token: "x", headers: { "X-A": "b" } })).toBe(true);
  expect(validate({ url, oauth_client_id: "a", oauth_client_secret: "b", oauth_scope: "c d" })).toBe(true);
  expect(validate({})).toBe(false);
  expect(validate({ url, other: 1 })).toBe(false);
  expect(validate({ url, api_token: "" })).toBe(false);
  expect(validate({ url, headers: { a: 1 } })).toBe(false);
  expect(validate({ url, headers: { a: "x".repeat(4097) } })).toBe(false);
  expect(validate({ url, headers: Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`h${i}`, ""])) })).toBe(
    false,
  );
});

it("secrets are marked writeOnly", () => {
  const { configurationSchema, secretProperties, credentialProperty } = subject();
  const properties = configurationSchema.properties as Record<string, JsonObject>;
  const writeOnly = Object.keys(properties).filter((name) => properties[name]?.writeOnly === true);
  expect(writeOnly).toEqual(["api_token", "headers", "oauth_client_secret"]);
  expect(secretProperties).toEqual(writeOnly);
  expect(credentialProperty).toBe("api_token");
});
