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

describe("a request that is not as it should be", () => {
  const cases: readonly (readonly [title: string, form: string, status: number, error: string])[] = [
    ["an unknown scope", grant("&scope=mgmt.read+mgmt.destroy"), 400, "invalid_scope"],
    ["a scope that the client was not given", grant("&scope=mcp.write"), 400, "invalid_scope"],
    ["a scope in other letters", grant("&scope=MGMT.READ"), 400, "invalid_scope"],
    ["scopes joined by a comma", grant("&scope=mgmt.read,mgmt.write"), 400, "invalid_scope"],
    ["mgmt.admin for a client without it", grant("&scope=mgmt.admin"), 400, "invalid_scope"],
    ["a scope with a line break", grant("&scope=mgmt.read%0Amgmt.write"), 400, "invalid_scope"],
    ["no grant type", "scope=mgmt.read", 400, "invalid_request"],
    ["an empty form", "", 400, "invalid_request"],
    ["another grant type", "grant_type=password&username=a&password=b", 400, "unsupported_grant_type"],
    ["a grant type that the client was not given", "grant_type=authorization_code&code=x", 400, "unauthorized_client"],
    ["the implicit grant", "grant_type=implicit", 400, "unsupported_grant_type"],
    ["a grant type given twice", grant("&grant_type=client_credentials"), 400, "invalid_request"],
    ["a scope given twice", grant("&scope=mgmt.read&scope=mgmt.write"), 400, "invalid_request"],
    ["an unknown parameter given twice", grant("&x=1&x=2"), 400, "invalid_request"],
    ["a second way to authenticate", grant("&client_secret=x"), 400, "invalid_request"],
    ["another client's id in the form", grant("&client_id=somebody"), 400, "invalid_request"],
    ["a foreign resource", grant("&resource=https%3A%2F%2Felsewhere.example%2Fmcp"), 400, "invalid_target"],
    ["a resource that is no address", grant("&resource=mcp"), 400, "invalid_target"],
    ["two resources", grant("&resource=a&resource=b"), 400, "invalid_target"],
    ["a form of more than 16 KiB", grant(`&x=${"a".repeat(20_000)}`), 413, "invalid_request"],
    ["a form of more than a megabyte", grant(`&x=${"a".repeat(3_000_000)}`), 413, "invalid_request"],
  ];
  for (const [title, form, status, error] of cases) {
    test(`${title} is ${status} ${error}`, async () => {
      const answer = await ask(form, { accept: "text/html" });
      expect(answer.status).toBe(status);
      expect(answer.headers.get("content-type")).toMatch(/^application\/json/);
      expect(answer.headers.get("cache-control")).toBe("no-store");
      expect(answer.body).toEqual({ error, error_description: expect.any(String) as string });
    });
  }

  test("a prototype's name is a parameter like any other", async () => {
    expect((await ask(grant("&__proto__=1&constructor=2"))).status).toBe(200);
  });

  test("a foreign resource on a host whose name begins with ours is refused", async () => {
    for (const resource of [
      `${installation.issuer}.evil.example/mcp`,
      `${installation.issuer}/mcp/0`,
      `${installation.issuer}/mcp/7/x`,
      `${installation.issuer}/mcp?x`,
    ]) {
      expect((await ask(grant(`&resource=${encodeURIComponent(resource)}`))).body.error).toBe("invalid_target");
    }
  });

  test("a body that is no form is 415", async () => {
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

  test("GET and other methods are 405 with Allow", async () => {
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

  test("the path in other letters or with a slash at its end is 404", async () => {
    for (const path of ["/OAUTH2/TOKEN", "/oauth2/Token", "/oauth2/token/", "/oauth2", "/oauth2/token%2f"]) {
      const response = await fetch(installation.issuer + path, {
        method: "POST",
        headers: { authorization: basic(client), "content-type": FORM },
        body: grant(),
      });
      expect(response.status).toBe(404);
    }
  });

  test("many forms at once on one connection each get their own answer", async () => {
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, at) => ask(at % 2 === 0 ? grant() : grant("&scope=no"))),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map((_, at) => (at % 2 === 0 ? 200 : 400)));
  });
});

test("a connection serves the next request after a form that was too large", async () => {
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
