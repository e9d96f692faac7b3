import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import type { AuthorizationTerms } from "../../../src/integrations/authorization.ts";
import type { TokenFailure } from "../../../src/integrations/oauth/token-failure.ts";
import type { JsonObject } from "../../../src/json.ts";
import type { OAuthUpstream } from "../../support/oauth-upstream.ts";
import type { VendorOptions } from "../../support/vendor.ts";
import {
  authorizationFor,
  failureOf,
  KNOWN,
  NO_REGISTRATIONS,
  obtain,
  startSubject,
  type Subject,
  targetOf,
} from "./support.ts";

const RESOURCE = "/.well-known/oauth-protected-resource";
const OAUTH = "/.well-known/oauth-authorization-server";
const OPENID = "/.well-known/openid-configuration";

function terms(subject: Subject, more: JsonObject = {}, wanted?: string): Promise<AuthorizationTerms> {
  const target = targetOf(subject.upstream, { ...KNOWN, ...more });
  return authorizationFor(subject, NO_REGISTRATIONS).terms(target, wanted, AbortSignal.timeout(20_000));
}

/** Serves changed metadata of the vendor at the given paths. */
function describeServerAt({ vendor }: OAuthUpstream, path: string, changes: JsonObject = {}): void {
  vendor.documents.clear();
  vendor.documents.set(path, { ...vendor.metadata, ...changes });
}

function describeResourceAt(upstream: OAuthUpstream, path: string, changes: JsonObject = {}): void {
  const { url, documents, vendor } = upstream;
  documents.clear();
  documents.set(path, { resource: url, authorization_servers: [vendor.issuer], ...changes });
}

const html = (response: ServerResponse): void => {
  response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>An app</title>");
};

interface Variant {
  readonly title: string;
  readonly options?: VendorOptions;
  readonly arrange: (upstream: OAuthUpstream) => void;
}

describe("accepts metadata if", () => {
  const variants: readonly Variant[] = [
    { title: "the challenge names the metadata", arrange: () => undefined },
    {
      title: "the challenge names metadata at another address",
      arrange: (upstream) => {
        describeResourceAt(upstream, "/about/me.json");
        upstream.challenge = `Bearer realm="a", resource_metadata="${new URL("/about/me.json", upstream.url).href}"`;
      },
    },
    {
      title: "the challenge names no metadata, which is at the well-known URL with the path",
      arrange: (upstream) => (upstream.challenge = "Bearer"),
    },
    { title: "there is no challenge at all", arrange: (upstream) => (upstream.challenge = undefined) },
    {
      title: "the challenge names a missing document",
      arrange: (upstream) => (upstream.challenge = `Bearer resource_metadata="${new URL("/none", upstream.url).href}"`),
    },
    {
      title: "the challenge names no URL",
      arrange: (upstream) => (upstream.challenge = `Bearer resource_metadata="/relative"`),
    },
    {
      title: "the metadata of the resource is at its origin and describes the origin",
      arrange: (upstream) => {
        upstream.challenge = "Bearer";
        describeResourceAt(upstream, RESOURCE);
      },
    },
    {
      title: "path-suffixed: RFC 8414 with the issuer's path inserted",
      options: { issuerPath: "/tenant/one" },
      arrange: (upstream) => describeServerAt(upstream, `${OAUTH}/tenant/one`),
    },
    {
      title: "OpenID only, with the issuer's path inserted",
      options: { issuerPath: "/tenant" },
      arrange: (upstream) => describeServerAt(upstream, `${OPENID}/tenant`),
    },
    {
      title: "OpenID only, with the issuer's path as prefix",
      options: { issuerPath: "/tenant" },
      arrange: (upstream) => describeServerAt(upstream, `/tenant${OPENID}`),
    },
    {
      title: "OpenID only, at the origin",
      arrange: (upstream) => describeServerAt(upstream, OPENID),
    },
    {
      title: "the resource writes the issuer with a trailing slash, unlike the issuer",
      options: { issuerPath: "/tenant" },
      arrange: (upstream) => {
        const issuer = `${upstream.vendor.issuer}/`;
        describeResourceAt(upstream, `${RESOURCE}/mcp`, { authorization_servers: [issuer] });
      },
    },
    {
      title: "the resource adds a slash to an issuer that is an origin",
      arrange: (upstream) =>
        describeResourceAt(upstream, `${RESOURCE}/mcp`, { authorization_servers: [`${upstream.vendor.issuer}/`] }),
    },
    {
      title: "a web app answers every other well-known URL with a page",
      arrange: (upstream) => {
        const { vendor } = upstream;
        vendor.documents.set(OAUTH, html);
        vendor.documents.set(OPENID, vendor.metadata);
        upstream.challenge = undefined;
        upstream.documents.set(`${RESOURCE}/mcp`, html);
        upstream.documents.set(RESOURCE, { resource: upstream.url, authorization_servers: [vendor.issuer] });
      },
    },
    {
      title: "a redirect at the first address, which is not followed",
      arrange: ({ vendor }) => {
        vendor.documents.set(OAUTH, (response) => response.writeHead(302, { location: "https://evil.example/" }).end());
        vendor.documents.set(OPENID, vendor.metadata);
      },
    },
    {
      title: "the metadata has no revocation_endpoint, scopes or client authentication methods",
      arrange: (upstream) => {
        const { vendor } = upstream;
        const fields = ["issuer", "authorization_endpoint", "token_endpoint", "code_challenge_methods_supported"];
        vendor.documents.set(OAUTH, Object.fromEntries(fields.map((name) => [name, vendor.metadata[name] ?? null])));
      },
    },
  ];
  test.each(variants)("$title", async ({ options, arrange }) => {
    const subject = await startSubject(options);
    arrange(subject.upstream);
    const found = await terms(subject);
    expect(found.server).toMatchObject({
      issuer: subject.upstream.vendor.issuer,
      authorizationEndpoint: subject.upstream.vendor.metadata["authorization_endpoint"],
    });
    expect(found.resource).toBe(subject.upstream.url);
    expect(found.audience).toBe(new URL(subject.upstream.url).origin);
    const tokens = await obtain(subject.upstream, found, subject.dispatcher);
    expect(await subject.upstream.vendor.inspect(tokens.accessToken, subject.upstream.url)).toBeDefined();
  });

  test.each([
    ["a parent path of the resource", (url: string) => `${new URL(url).origin}/`],
    ["the origin without a slash", (url: string) => new URL(url).origin],
    ["the address with a trailing slash", (url: string) => `${url}/`],
  ])("uses the resource indicator exactly as the resource states it: %s", async (_title, name) => {
    const subject = await startSubject({ resources: () => [name(subject.upstream.url)] });
    const { upstream } = subject;
    const resource = name(upstream.url);
    describeResourceAt(upstream, `${RESOURCE}/mcp`, { resource });
    const found = await terms(subject);
    expect(found.resource).toBe(resource);
    const { accessToken } = await obtain(upstream, found, subject.dispatcher);
    expect(await upstream.vendor.inspect(accessToken, resource)).toBeDefined();
  });

  test("MCP 2025-03-26: a server without resource metadata is its own authorization server, and no resource is sent", async () => {
    const subject = await startSubject();
    const { upstream } = subject;
    const { origin } = new URL(upstream.url);
    upstream.documents.clear();
    upstream.challenge = undefined;
    upstream.documents.set(OAUTH, { ...upstream.vendor.metadata, issuer: origin });
    const found = await terms(subject);
    expect(found).toMatchObject({ resource: undefined, server: { issuer: origin } });
  });

  test("a resource whose metadata names no authorization server is its own", async () => {
    const subject = await startSubject();
    const { upstream } = subject;
    const { origin } = new URL(upstream.url);
    describeResourceAt(upstream, `${RESOURCE}/mcp`, { authorization_servers: [] });
    upstream.documents.set(OAUTH, { ...upstream.vendor.metadata, issuer: origin });
    expect(await terms(subject)).toMatchObject({ resource: upstream.url, server: { issuer: origin } });
  });
});

describe("rejects before the login", () => {
  const server =
    (changes: JsonObject): Variant["arrange"] =>
    (upstream) =>
      describeServerAt(upstream, OAUTH, changes);
  const without =
    (name: string): Variant["arrange"] =>
    (upstream) => {
      const { [name]: _missing, ...rest } = upstream.vendor.metadata;
      upstream.vendor.documents.set(OAUTH, rest);
    };
  const resource =
    (changes: JsonObject): Variant["arrange"] =>
    (upstream) =>
      describeResourceAt(upstream, `${RESOURCE}/mcp`, changes);
  const variants: readonly (Variant & { readonly says: string; readonly kind?: TokenFailure["kind"] })[] = [
    { title: "another issuer", arrange: server({ issuer: "https://evil.example" }), says: "names another issuer" },
    {
      title: "another issuer, in OpenID's form",
      arrange: (upstream) => describeServerAt(upstream, OPENID, { issuer: "https://evil.example" }),
      says: "names another issuer",
    },
    {
      title: "another issuer in OpenID metadata with the path as prefix",
      arrange: (upstream) => {
        const { origin } = upstream.vendor;
        describeResourceAt(upstream, `${RESOURCE}/mcp`, { authorization_servers: [`${origin}/tenant`] });
        describeServerAt(upstream, `/tenant${OPENID}`, { issuer: origin });
      },
      says: "names another issuer",
    },
    {
      title: "another issuer with the same prefix",
      arrange: (upstream) => describeServerAt(upstream, OAUTH, { issuer: `${upstream.vendor.issuer}.evil.example` }),
      says: "names another issuer",
    },
    {
      title: "another issuer on the same host",
      arrange: (upstream) => describeServerAt(upstream, OAUTH, { issuer: `${upstream.vendor.issuer}/other` }),
      says: "names another issuer",
    },
    { title: "no issuer", arrange: without("issuer"), says: "names no issuer" },
    {
      title: "no authorization_endpoint",
      arrange: without("authorization_endpoint"),
      says: "names no authorization_endpoint",
    },
    { title: "no token_endpoint", arrange: without("token_endpoint"), says: "names no token_endpoint" },
    { title: "no PKCE methods", arrange: without("code_challenge_methods_supported"), says: "PKCE with S256" },
    {
      title: "only the PKCE method `plain`",
      arrange: server({ code_challenge_methods_supported: ["plain"] }),
      says: "PKCE with S256",
    },
    { title: "no code flow", arrange: server({ response_types_supported: ["token"] }), says: "code flow" },
    {
      title: "no authorization code grant",
      arrange: server({ grant_types_supported: ["client_credentials"] }),
      says: "code flow",
    },
    {
      title: "a login page at a private address",
      arrange: server({ authorization_endpoint: "https://10.0.0.1/auth" }),
      says: "authorization_endpoint that cannot be used. Calls to 10.0.0.1:443 are refused",
    },
    {
      title: "a login page with a script URL",
      arrange: server({ authorization_endpoint: "javascript:alert(1)" }),
      says: "authorization_endpoint that cannot be used",
    },
    {
      title: "a login page over plain http",
      arrange: server({ authorization_endpoint: "http://vendor.example/auth" }),
      says: "unencrypted",
    },
    {
      title: "a token endpoint at a cloud metadata service",
      arrange: server({ token_endpoint: "http://169.254.169.254/latest" }),
      says: "token_endpoint that cannot be used",
    },
    {
      title: "a token endpoint over plain http",
      arrange: server({ token_endpoint: "http://vendor.example/token" }),
      says: "unencrypted",
    },
    {
      title: "a registration endpoint at a private address",
      arrange: server({ registration_endpoint: "https://localhost:1/reg" }),
      says: "registration_endpoint that cannot be used",
    },
    { title: "an endpoint that is not a string", arrange: server({ token_endpoint: 7 }), says: "must be a string" },
    {
      title: "an issuer at a private address",
      arrange: resource({ authorization_servers: ["https://192.168.1.1"] }),
      says: "Calls to 192.168.1.1:443 are refused",
    },
    {
      title: "an issuer over plain http",
      arrange: resource({ authorization_servers: ["http://vendor.example"] }),
      says: "unencrypted",
    },
    {
      title: "an issuer that is not a URL",
      arrange: resource({ authorization_servers: ["vendor"] }),
      says: "That is no issuer",
    },
    {
      title: "an issuer with a query",
      arrange: (upstream) =>
        describeResourceAt(upstream, `${RESOURCE}/mcp`, {
          authorization_servers: [`${upstream.vendor.issuer}?tenant=1`],
        }),
      says: "no issuer",
    },
    {
      title: "resource metadata at a private address",
      arrange: (upstream) =>
        (upstream.challenge = `Bearer resource_metadata="http://169.254.169.254/latest/meta-data"`),
      says: "Calls to 169.254.169.254:80 are refused",
    },
    {
      title: "metadata of another resource",
      arrange: resource({ resource: "https://bank.example/mcp" }),
      says: "describes another resource",
    },
    {
      title: "metadata of a sibling resource",
      arrange: (upstream) => describeResourceAt(upstream, `${RESOURCE}/mcp`, { resource: `${upstream.url}-of-others` }),
      says: "describes another resource",
    },
    {
      title: "metadata of a resource below this one",
      arrange: (upstream) => describeResourceAt(upstream, `${RESOURCE}/mcp`, { resource: `${upstream.url}/admin` }),
      says: "describes another resource",
    },
    { title: "metadata without a resource", arrange: resource({ resource: 7 }), says: "resource is missing" },
    {
      title: "nothing anywhere",
      arrange: (upstream) => {
        upstream.vendor.documents.clear();
      },
      says: "has no metadata",
    },
    {
      title: "redirects everywhere",
      arrange: ({ vendor }) => {
        for (const path of [OAUTH, OPENID])
          vendor.documents.set(path, (response) => response.writeHead(307, { location: "/elsewhere" }).end());
      },
      says: "answered 307, and redirects are not followed",
    },
    {
      title: "pages everywhere",
      arrange: ({ vendor }) => {
        for (const path of [OAUTH, OPENID]) vendor.documents.set(path, html);
      },
      says: "holds no JSON",
    },
    {
      title: "a list instead of a document",
      arrange: ({ vendor }) => vendor.documents.set(OAUTH, (response) => response.end("[1]")),
      says: "holds no JSON object",
    },
    {
      title: "a document with excessive nesting",
      arrange: ({ vendor }) =>
        vendor.documents.set(OAUTH, (response) => response.end("[".repeat(1_000) + "]".repeat(1_000))),
      says: "holds no JSON",
    },
    {
      title: "an endless document",
      arrange: ({ vendor }) => vendor.documents.set(OAUTH, (response) => response.end(" ".repeat(300_000))),
      says: "more than metadata can be",
    },
    {
      title: "a server that is down",
      arrange: ({ vendor }) => vendor.documents.set(OAUTH, (response) => response.writeHead(503).end()),
      says: "answered 503",
      kind: "down",
    },
    {
      title: "a server that hangs up",
      arrange: ({ vendor }) => vendor.documents.set(OAUTH, (response) => response.destroy()),
      says: "could not be reached",
      kind: "down",
    },
  ];
  test.each(variants)("$title", async ({ arrange, says, kind = "other" }) => {
    const subject = await startSubject();
    arrange(subject.upstream);
    const failure = await failureOf(terms(subject));
    expect(failure.message).toContain(says);
    expect(failure.kind).toBe(kind);
    expect(subject.upstream.vendor.registrations).toEqual([]);
    const target = targetOf(subject.upstream);
    const offered = authorizationFor(subject, NO_REGISTRATIONS).isAvailable(target, AbortSignal.timeout(20_000));
    expect(await offered).toBe(false);
  });
});

describe("requested scopes", () => {
  test.each([
    ["of the challenge", `, scope="tools.read tools.admin"`, ["tools.read"], "tools.read tools.admin"],
    ["of the resource, if the challenge has none", "", ["tools.read"], "tools.read"],
    ["of the server's default, if neither has any", "", undefined, undefined],
    ["of the server's default, if the list is empty", "", [], undefined],
  ])("requests the scopes %s", async (_title, words, supported, expected) => {
    const subject = await startSubject();
    const { upstream } = subject;
    const { scopes_supported: _unnamed, ...rest } = upstream.vendor.metadata;
    upstream.vendor.documents.set(OAUTH, rest);
    upstream.challenge = `${upstream.challenge ?? ""}${words}`;
    describeResourceAt(upstream, `${RESOURCE}/mcp`, supported === undefined ? {} : { scopes_supported: supported });
    const found = await terms(subject);
    expect(found.scope).toBe(expected);
    expect(found.extra).toEqual({});
  });

  test("the owner's scopes override the server's, and a step-up adds further scopes", async () => {
    const subject = await startSubject();
    const { scopes_supported: _unnamed, ...rest } = subject.upstream.vendor.metadata;
    subject.upstream.vendor.documents.set(OAUTH, rest);
    subject.upstream.challenge = `${subject.upstream.challenge ?? ""}, scope="tools.read"`;
    expect((await terms(subject, { oauth_scope: "custom" })).scope).toBe("custom");
    expect((await terms(subject, { oauth_scope: "custom" }, "tools.admin custom")).scope).toBe("custom tools.admin");
    expect((await terms(subject, {}, "tools.admin")).scope).toBe("tools.read tools.admin");
  });

  test("requests the scope for refresh tokens together with the consent that it requires", async () => {
    const subject = await startSubject();
    const { upstream } = subject;
    describeResourceAt(upstream, `${RESOURCE}/mcp`, { scopes_supported: ["tools.read"] });
    const found = await terms(subject);
    expect(found).toMatchObject({ scope: "tools.read offline_access", extra: { prompt: "consent" } });
    expect((await obtain(upstream, found, subject.dispatcher)).refreshToken).toBeDefined();
  });
});

test("discovery sends the connection's headers only to the MCP server and its key nowhere", async () => {
  const subject = await startSubject();
  const seen: string[] = [];
  const { upstream } = subject;
  const metadata = upstream.documents.get(`${RESOURCE}/mcp`);
  upstream.documents.set(`${RESOURCE}/mcp`, (response) => {
    seen.push(JSON.stringify(response.req.headers));
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(metadata));
  });
  upstream.vendor.documents.set(OAUTH, (response) => {
    seen.push(JSON.stringify(response.req.headers));
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(upstream.vendor.metadata));
  });
  await terms(subject, { headers: { "X-Tenant": "canary-header" }, api_token: "canary-key" });
  expect(seen).toHaveLength(2);
  expect(seen.join()).not.toContain("canary");
  expect(upstream.refused).toEqual([undefined]);
});
