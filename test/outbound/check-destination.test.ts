import { describe, expect, it } from "vitest";
import { checkDestination } from "../../src/outbound/check-destination.ts";

describe("rejects a URL before it is stored:", () => {
  it.each<[string, string, RegExp]>([
    ["another scheme", "ftp://example.com/", /must start with https/],
    ["a data address", "data:text/plain,x", /must start with https/],
    ["a file", "file:///etc/passwd", /must start with https/],
    ["a relative address", "/mcp", /absolute address/],
    ["a user name", "https://user@example.com/", /user name/],
    ["a password", "https://:secret@example.com/", /password/],
    ["a fragment", "https://example.com/#x", /fragment/],
    ["an empty fragment", "https://example.com/#", /fragment/],
    ["too many characters", `https://example.com/${"a".repeat(2048)}`, /2048 characters/],
    ["a line break", "https://example.com/\r\nx", /control characters/],
    ["a tab that parsers drop", "https://exam\tple.com/", /control characters/],
    ["a backslash", "https:\\\\example.com", /backslashes/],
    ["port 0", "https://example.com:0/", /no host/],
    ["plain http to the public", "http://example.com/", /unencrypted/],
    ["localhost", "https://localhost/", /loopback/],
    ["localhost with a dot", "https://localhost./", /loopback/],
    ["a name under localhost", "https://a.localhost/", /loopback/],
    ["a zone", "https://[fe80::1%25eth0]/", /absolute address/],
  ])("%s", (_title, url, reason) => {
    expect(checkDestination(url, [])).toMatch(reason);
  });

  it("accepts a public https URL", () => {
    expect(checkDestination("https://mcp.example.com/mcp?tenant=1", [])).toBeUndefined();
    expect(checkDestination("https://8.8.8.8/", [])).toBeUndefined();
  });
});

describe("an allow-list entry", () => {
  it("allows only its host and port", () => {
    const allow = ["10.0.0.5:8080", "internal.example:443"];
    expect(checkDestination("http://10.0.0.5:8080/mcp", allow)).toBeUndefined();
    expect(checkDestination("http://10.0.0.5:8081/mcp", allow)).toMatch(/OUTBOUND_ALLOW/);
    expect(checkDestination("https://internal.example/", allow)).toBeUndefined();
    expect(checkDestination("https://INTERNAL.example./", allow)).toBeUndefined();
    expect(checkDestination("http://internal.example/", allow)).toMatch(/unencrypted/);
  });

  it("matches any spelling, and localhost means the loopback addresses", () => {
    expect(checkDestination("http://0x7f000001:4011/", ["127.0.0.1:4011"])).toBeUndefined();
    expect(checkDestination("http://localhost:4011/", ["127.0.0.1:4011"])).toBeUndefined();
    expect(checkDestination("http://127.0.0.1:4011/", ["localhost:4011"])).toBeUndefined();
    expect(checkDestination("http://[::1]:4011/", ["[0:0::1]:4011"])).toBeUndefined();
    expect(checkDestination("http://127.0.0.2:4011/", ["localhost:4011"])).toMatch(/loopback/);
  });

  it.each([
    "example.com",
    "http://example.com:80",
    "example.com:0",
    "example.com:99999",
    "::1:80",
    "a b:80",
    "*:80/x",
    "",
  ])("must be host:port, which %j is not", (entry) => {
    expect(() => checkDestination("https://example.com/", [entry])).toThrow(
      `OUTBOUND_ALLOW: "${entry}" is not host:port`,
    );
  });
});
