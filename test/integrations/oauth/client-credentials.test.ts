import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { readContract } from "../../../src/integrations/openapi/contract.ts";
import { contractText, createSubject, textOf, type Subject } from "../openapi/subject.ts";
import { json } from "../openapi/upstream.ts";
import {
  CLIENT_ID,
  CLIENT_SECRET,
  startAuthorizationServer,
  type AuthorizationServer,
} from "./authorization-server.ts";

const ok = { responses: { "200": { description: "ok", content: { "application/json": { schema: {} } } } } };

/** A contract whose vendor issues tokens for a client id and a secret. */
function contract(credential: Record<string, string> = {}): string {
  return contractText(
    { "/api/things": { get: { operationId: "list", ...ok }, post: { operationId: "create", ...ok } } },
    {
      "x-patchbay-integration": {
        server_type: "acme",
        credential: "client_secret",
        verification: "me",
        configuration: {
          type: "object",
          additionalProperties: false,
          properties: { client_id: { type: "string" }, client_secret: { type: "string", writeOnly: true } },
        },
      },
      servers: [{ url: "https://acme.example.com" }],
      security: [{ oauth: [] }],
      components: {
        securitySchemes: {
          oauth: {
            type: "oauth2",
            flows: { clientCredentials: { tokenUrl: "https://acme.example.com/oauth/token", scopes: {} } },
            "x-patchbay-credential": { client_id: "{client_id}", ...credential },
          },
        },
      },
    },
  );
}

let server: AuthorizationServer;
let subject: Subject;

beforeAll(async () => {
  server = await startAuthorizationServer();
});
afterAll(() => server.close());
beforeEach(() => {
  server.tokenRequests.length = 0;
  server.served.length = 0;
  server.refused = 0;
  server.answerToken = undefined;
  subject = subjectWith();
  return () => subject.close();
});

function subjectWith(credential?: Record<string, string>, secret = CLIENT_SECRET): Subject {
  const configuration = { client_id: CLIENT_ID, client_secret: secret };
  return createSubject(contract(credential), server.url, { configuration });
}

describe("an integration by OAuth 2 client credentials", () => {
  it("requests one token for all calls, with HTTP Basic as encoded by RFC 6749, and sends it as a bearer token", async () => {
    const results = await Promise.all(Array.from({ length: 20 }, () => subject.call("list")));
    expect(results.every(({ isError }) => !isError)).toBe(true);
    expect((await subject.call("create")).isError).toBe(false);
    expect(server.tokenRequests).toHaveLength(1);
    expect(server.tokenRequests[0]?.body).toBe("grant_type=client_credentials");
    expect(server.tokenRequests[0]?.authorization).toMatch(/^Basic /);
    expect(new Set(server.served.map(({ token }) => token)).size).toBe(1);
    expect(server.served).toHaveLength(21);
  });

  it("requests the contract's scopes, and sends the credentials as form parameters if the contract says so", async () => {
    const posting = subjectWith({ scope: "read", authentication: "post" });
    // This server accepts only the registered authentication method, so the test checks what was sent.
    await posting.call("list");
    expect(server.tokenRequests[0]?.authorization).toBeUndefined();
    expect(Object.fromEntries(new URLSearchParams(server.tokenRequests[0]?.body))).toEqual({
      grant_type: "client_credentials",
      scope: "read",
      client_id: CLIENT_ID,
      client_secret: CLIENT_SECRET,
    });
    await posting.close();
    const scoped = subjectWith({ scope: "read" });
    await scoped.call("list");
    expect(server.served.at(-1)?.scope).toBe("read");
    await scoped.close();
  });

  it.each(["list", "create"])("replaces a rejected token and repeats the call once: %s", async (tool) => {
    await subject.call("list");
    server.revokeAll();
    const results = await Promise.all(Array.from({ length: 5 }, () => subject.call(tool)));
    expect(results.every(({ isError }) => !isError)).toBe(true);
    expect(server.tokenRequests).toHaveLength(2);
    expect(server.refused).toBe(5);
  });

  it("reports a rejected key when the renewed token is rejected too", async () => {
    server.answerToken = (response) => json(response, 200, { access_token: "nobody-knows-it", token_type: "bearer" });
    const result = await subject.call("list");
    expect(result).toMatchObject({ isError: true, upstreamFault: "refused_key" });
    expect(textOf(result)).toContain("Acme answered 401. It says: token unknown.");
    expect([server.tokenRequests.length, server.refused]).toEqual([2, 2]);
  });

  it("verifies with a real token", async () => {
    expect(await subject.verify()).toEqual({ outcome: "verified" });
    expect(server.served.map(({ path }) => path)).toEqual(["/me"]);
  });

  it("redacts the secret and the token from answers that repeat them", async () => {
    const result = await subject.call("list");
    const token = server.served[0]?.token ?? "";
    expect(token.length).toBeGreaterThan(20);
    expect(JSON.stringify(result)).not.toContain(token);
    expect(textOf(result)).toContain("[redacted]");
    const pair = server.tokenRequests[0]?.authorization?.slice("Basic ".length) ?? "";
    const another = subjectWith();
    server.answerToken = (response) =>
      json(response, 400, { error: "invalid_request", error_description: `you sent ${CLIENT_SECRET} in ${pair}` });
    const text = textOf(await another.call("list"));
    await another.close();
    expect(text).toContain("invalid_request: you sent [redacted] in [redacted]");
  });
});

describe("a failed token request returns a result with a remedy", () => {
  it("names a wrong secret, and fails the verification", async () => {
    const wrong = subjectWith({}, "wrong-secret-0123456789");
    const result = await wrong.call("list");
    const port = new URL(server.url).port;
    expect(result).toMatchObject({ isError: true, upstreamFault: "refused_key" });
    expect(textOf(result)).toMatch(
      new RegExp(`^The token endpoint of Acme at 127.0.0.1:${port} answered 401 with invalid_client.*new api_key\\.$`),
    );
    expect(await wrong.verify()).toEqual({ outcome: "failed", reason: textOf(result) });
    expect(server.refused).toBe(0);
    await wrong.close();
  });

  it.each<[string, number, unknown, Record<string, string>, string, RegExp]>([
    ["rejected scopes", 400, { error: "invalid_scope" }, {}, "refused_key", /lacks the requested scopes/],
    [
      "a rejected grant type",
      400,
      { error: "unauthorized_client" },
      {},
      "refused_key",
      /not allowed to use client credentials/,
    ],
    ["a missing endpoint", 404, {}, {}, "refused_key", /answered 404\. Check the client/],
    ["too many requests", 429, {}, { "retry-after": "7" }, "busy", /try again in 7 seconds/],
    ["a broken server", 500, { error: "server_error" }, {}, "down", /fault is on its side/],
    ["a redirect", 302, {}, { location: "http://169.254.169.254/" }, "other", /Redirects are not followed/],
    ["no token", 200, { token_type: "bearer" }, {}, "other", /without a bearer token/],
    ["an unsupported token type", 200, { access_token: "x", token_type: "mac" }, {}, "other", /without a bearer token/],
    [
      "a token with a line break",
      200,
      { access_token: "a\r\nb", token_type: "bearer" },
      {},
      "other",
      /without a bearer/,
    ],
    ["a response that is not an object", 200, [], {}, "other", /without a bearer token/],
    [
      "an oversized response",
      200,
      { access_token: "x".repeat(300_000), token_type: "bearer" },
      {},
      "other",
      /more than a token/,
    ],
  ])("reports %s", async (_title, status, body, headers, fault, said) => {
    server.answerToken = (response) => json(response, status, body, headers);
    const result = await subject.call("list");
    expect(result).toMatchObject({ isError: true, upstreamFault: fault });
    expect(textOf(result)).toMatch(said);
    expect(server.refused).toBe(0);
    const { outcome } = await subject.verify();
    expect(outcome).toBe(fault === "refused_key" ? "failed" : "retry");
  });

  it("names an unreachable server", async () => {
    server.answerToken = (response) => void response.socket?.resetAndDestroy();
    const result = await subject.call("list");
    expect(result).toMatchObject({ isError: true, upstreamFault: "down" });
    expect(textOf(result)).toMatch(/could not be reached: it broke off the connection/);
  });
});

describe("a contract with client credentials", () => {
  it.each<[string, string, RegExp]>([
    ["over plain http", "http://acme.example.com/oauth/token", /needs an https server for its tokens/],
    [
      "with a token endpoint that the caller can choose",
      "https://{client_id}.example.com/token",
      /"destination" must name it/,
    ],
    ["without a token endpoint", "", /without a client credentials flow/],
  ])("is rejected %s", (_title, tokenUrl, said) => {
    const text = contract().replace("https://acme.example.com/oauth/token", tokenUrl);
    expect(() => readContract(text)).toThrow(said);
  });

  it("is rejected if it has no client credentials flow", () => {
    expect(() => readContract(contract().replace("clientCredentials:", "implicit:"))).toThrow(
      /client credentials flow/,
    );
  });
});
