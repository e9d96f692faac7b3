import { describe, expect, test } from "vitest";
import type { AuthorizationTerms } from "../../../src/integrations/authorization.ts";
import type { JsonObject } from "../../../src/json.ts";
import {
  authorizationFor,
  failureOf,
  KNOWN,
  NO_REGISTRATIONS,
  startSubject,
  type Subject,
  targetOf,
} from "./support.ts";

const OAUTH = "/.well-known/oauth-authorization-server";
const OPENID = "/.well-known/openid-configuration";
const PAGE = "/tenant/oauth/authorize";

/**
 * An authorization server whose metadata names a login page at the origin of the MCP server. `said` is the metadata
 * that this origin serves, by path.
 */
async function startWithLoginPage(page: string, said: Readonly<Record<string, JsonObject>>): Promise<Subject> {
  const subject = await startSubject();
  const { vendor, url, documents } = subject.upstream;
  vendor.documents.set(OAUTH, { ...vendor.metadata, authorization_endpoint: new URL(page, url).href });
  for (const [path, document] of Object.entries(said))
    documents.set(path, { authorization_endpoint: new URL(PAGE, url).href, ...document });
  return subject;
}

function terms(subject: Subject): Promise<AuthorizationTerms> {
  const authorization = authorizationFor(subject, NO_REGISTRATIONS);
  return authorization.terms(targetOf(subject.upstream, KNOWN), undefined, AbortSignal.timeout(20_000));
}

const ELSEWHERE = { token_endpoint: "https://vendor.example/token" };

describe("a login page whose origin is not that of its issuer", () => {
  test("is used if that origin names the same token endpoint", async () => {
    const subject = await startWithLoginPage(PAGE, {});
    const { vendor, url, documents } = subject.upstream;
    const { token_endpoint = null } = vendor.metadata;
    documents.set(OAUTH, { authorization_endpoint: new URL(PAGE, url).href, token_endpoint });
    documents.set(`/tenant${OPENID}`, { authorization_endpoint: new URL(PAGE, url).href, ...ELSEWHERE });
    expect((await terms(subject)).server.authorizationEndpoint).toBe(new URL(PAGE, url).href);
  });

  test("is used if no metadata of that origin names the page", async () => {
    const other = { [OAUTH]: { authorization_endpoint: "https://vendor.example/login", ...ELSEWHERE } };
    for (const said of [{}, other]) {
      const subject = await startWithLoginPage(PAGE, said);
      expect((await terms(subject)).server.authorizationEndpoint).toBe(new URL(PAGE, subject.upstream.url).href);
    }
  });

  test.each([
    ["at its root", OAUTH, PAGE],
    ["at its root, in OpenID's form", OPENID, PAGE],
    ["with the path inserted", `${OAUTH}/tenant`, PAGE],
    ["with the path in front", `/tenant${OPENID}`, PAGE],
    ["of the page in another case, with a slash and a query", OAUTH, "/tenant/OAuth/Authorize/?from=us"],
  ])("is rejected if the page's origin names another token endpoint: %s", async (_title, path, page) => {
    const subject = await startWithLoginPage(page, { [path]: ELSEWHERE });
    const { kind, message } = await failureOf(terms(subject));
    expect(kind).toBe("other");
    expect(message).toContain("names the login page of another server");
    expect(subject.upstream.vendor.registrations).toEqual([]);
  });

  test("is rejected while the metadata of that origin is unavailable", async () => {
    const subject = await startWithLoginPage(PAGE, {});
    subject.upstream.documents.set(OAUTH, (response) => void response.writeHead(503).end());
    expect((await failureOf(terms(subject))).kind).toBe("down");
  });
});
