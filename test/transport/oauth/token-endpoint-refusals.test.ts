import { Agent, request as httpRequest } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Account } from "../../../src/identity/account.ts";
import type { CreatedClient } from "../../../src/identity/clients/clients.ts";
import { askToken, type Answer, FORM, grant } from "./ask-token.ts";
import { basic, type Installation, startInstallation } from "./installation.ts";

let installation: Installation;
let account: Account;
let client: CreatedClient;

beforeAll(async () => {
  installation = await startInstallation();
  account = await installation.newAccount(true);
  client = await installation.clients.create(account, "mgmt.read mgmt.write mcp.read");
});
afterAll(() => installation.close());

function ask(form: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
  return askToken(installation, client, form, headers);
}

describe("invalid token requests", () => {
  const cases: readonly (readonly [title: string, form: string, status: number, error: string])[] = [
    ["an unknown scope", grant("&scope=mgmt.read+mgmt.destroy"), 400, "invalid_scope"],
    ["a scope that the client is not allowed to request", grant("&scope=mcp.write"), 400, "invalid_scope"],
    ["a scope in upper case", grant("&scope=MGMT.READ"), 400, "invalid_scope"],
    ["scopes joined by a comma", grant("&scope=mgmt.read,mgmt.write"), 400, "invalid_scope"],
    ["mgmt.admin for a client without that scope", grant("&scope=mgmt.admin"), 400, "invalid_scope"],
    ["a scope with a line break", grant("&scope=mgmt.read%0Amgmt.write"), 400, "invalid_scope"],
    ["no grant type", "scope=mgmt.read", 400, "invalid_request"],
    ["an empty form", "", 400, "invalid_request"],
    ["another grant type", "grant_type=password&username=a&password=b", 400, "unsupported_grant_type"],
    [
      "a grant type that the client is not allowed to use",
      "grant_type=authorization_code&code=x",
      400,
      "unauthorized_client",
    ],
    ["the implicit grant", "grant_type=implicit", 400, "unsupported_grant_type"],
    ["a repeated grant type", grant("&grant_type=client_credentials"), 400, "invalid_request"],
    ["a repeated scope", grant("&scope=mgmt.read&scope=mgmt.write"), 400, "invalid_request"],
    ["a repeated unknown parameter", grant("&x=1&x=2"), 400, "invalid_request"],
    ["a second authentication method", grant("&client_secret=x"), 400, "invalid_request"],
    ["another client's id in the form", grant("&client_id=somebody"), 400, "invalid_request"],
    ["a foreign resource", grant("&resource=https%3A%2F%2Felsewhere.example%2Fmcp"), 400, "invalid_target"],
    ["a resource that is not a URL", grant("&resource=mcp"), 400, "invalid_target"],
    ["two resources", grant("&resource=a&resource=b"), 400, "invalid_target"],
    ["a form of more than 16 KiB", grant(`&x=${"a".repeat(20_000)}`), 413, "invalid_request"],
    ["a form of more than a megabyte", grant(`&x=${"a".repeat(3_000_000)}`), 413, "invalid_request"],
  ];
  for (const [title, form, status, error] of cases) {
    test(`returns ${status} ${error} for ${title}`, async () => {
      const answer = await ask(form, { accept: "text/html" });
      expect(answer.status).toBe(status);
      expect(answer.headers.get("content-type")).toMatch(/^application\/json/);
      expect(answer.headers.get("cache-control")).toBe("no-store");
      expect(answer.body).toEqual({ error, error_description: expect.any(String) as string });
    });
  }

  test("accepts __proto__ and constructor as unknown parameters", async () => {
    expect((await ask(grant("&__proto__=1&constructor=2"))).status).toBe(200);
  });

  test("rejects a resource whose host only begins with the host of the issuer, and a resource with an invalid path", async () => {
    for (const resource of [
      `${installation.issuer}.evil.example/mcp`,
      `${installation.issuer}/mcp/0`,
      `${installation.issuer}/mcp/7/x`,
      `${installation.issuer}/mcp?x`,
      `${installation.issuer}/sse/`,
      `${installation.issuer}/sse?x`,
    ]) {
      expect((await ask(grant(`&resource=${encodeURIComponent(resource)}`))).body.error).toBe("invalid_target");
    }
  });

  test("returns 415 for a body that is not a form", async () => {
    for (const type of [
      "application/json",
      "text/plain",
      "multipart/form-data; boundary=x",
      "application/x-www-form-urlencodedx",
    ]) {
      const { status, body } = await ask(JSON.stringify({ grant_type: "client_credentials" }), {
        "content-type": type,
      });
      expect([status, body.error]).toEqual([415, "invalid_request"]);
    }
  });

  test("returns 405 with an Allow header for methods other than POST", async () => {
    for (const method of ["GET", "PUT", "DELETE", "OPTIONS"]) {
      const response = await fetch(`${installation.issuer}/oauth2/token`, {
        method,
        headers: { origin: "https://evil.example", "access-control-request-method": "POST" },
      });
      expect(response.status).toBe(405);
      expect(response.headers.get("allow")).toBe("POST");
      expect(response.headers.get("access-control-allow-origin")).toBeNull();
    }
  });

  test("returns 404 for the token path in another case or with a trailing slash", async () => {
    for (const path of ["/OAUTH2/TOKEN", "/oauth2/Token", "/oauth2/token/", "/oauth2", "/oauth2/token%2f"]) {
      const response = await fetch(installation.issuer + path, {
        method: "POST",
        headers: { authorization: basic(client), "content-type": FORM },
        body: grant(),
      });
      expect(response.status).toBe(404);
    }
  });

  test("returns the matching response to each of 40 concurrent token requests", async () => {
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, at) => ask(at % 2 === 0 ? grant() : grant("&scope=no"))),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map((_, at) => (at % 2 === 0 ? 200 : 400)));
  });
});

test("keeps a connection usable after rejecting a form that is too large", async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const post = (body: string): Promise<number> =>
    new Promise((resolve, reject) => {
      const sent = httpRequest(
        `${installation.issuer}/oauth2/token`,
        { method: "POST", agent, headers: { authorization: basic(client), "content-type": FORM } },
        (response) => {
          response.resume().on("end", () => resolve(response.statusCode ?? 0));
        },
      );
      sent.on("error", reject).end(body);
    });
  expect(await post(grant(`&x=${"a".repeat(60_000)}`))).toBe(413);
  expect(await post(grant())).toBe(200);
  agent.destroy();
});
