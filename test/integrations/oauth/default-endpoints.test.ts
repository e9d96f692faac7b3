import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import type { AuthorizationTerms } from "../../../src/integrations/authorization.ts";
import { callbackPathOf } from "../../../src/integrations/oauth/client-document.ts";
import type { OAuthUpstream } from "../../support/oauth-upstream.ts";
import {
  authorizationFor,
  failureOf,
  KNOWN,
  NO_REGISTRATIONS,
  startSubject,
  type Subject,
  targetOf,
} from "./support.ts";

const RESOURCE = "/.well-known/oauth-protected-resource";

function terms(subject: Subject): Promise<AuthorizationTerms> {
  const target = targetOf(subject.upstream, KNOWN);
  return authorizationFor(subject, NO_REGISTRATIONS).terms(target, undefined, AbortSignal.timeout(20_000));
}

const html = (response: ServerResponse): void => {
  response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>An app</title>");
};

/** Removes all metadata of an upstream, and answers its token endpoint. */
function describeNothing(upstream: OAuthUpstream, token: (response: ServerResponse) => void): void {
  upstream.documents.clear();
  upstream.documents.set("/token", token);
  upstream.challenge = "Bearer";
}

const answer =
  (status: number, body: string) =>
  (response: ServerResponse): void =>
    void response.writeHead(status, { "content-type": "application/json" }).end(body);
const TOKEN_ERROR = answer(400, `{"error":"invalid_request"}`);

describe("a server without any metadata", () => {
  test("is authorized at the default endpoints of its own origin, as in 2025-03-26", async () => {
    const subject = await startSubject();
    const { upstream } = subject;
    describeNothing(upstream, TOKEN_ERROR);
    const { origin } = new URL(upstream.url);
    const { server, resource, callbackPath } = await terms(subject);
    expect(server).toEqual({
      issuer: origin,
      authorizationEndpoint: `${origin}/authorize`,
      tokenEndpoint: `${origin}/token`,
      revocationEndpoint: undefined,
      sendsIssuer: false,
    });
    expect(resource).toBeUndefined();
    expect(callbackPath).toBe(callbackPathOf(origin));
    const offered = authorizationFor(subject, NO_REGISTRATIONS).isAvailable(
      targetOf(upstream),
      AbortSignal.timeout(20_000),
    );
    expect(await offered).toBe(true);
  });

  test("receives the registration of a client at its default endpoint", async () => {
    const subject = await startSubject();
    const { upstream } = subject;
    describeNothing(upstream, TOKEN_ERROR);
    upstream.documents.set("/register", answer(201, `{"client_id":"new","client_secret":"s3cret"}`));
    const authorization = authorizationFor(subject, NO_REGISTRATIONS);
    const { client } = await authorization.terms(targetOf(upstream), undefined, AbortSignal.timeout(20_000));
    expect(client).toMatchObject({ clientId: "new", clientSecret: "s3cret", source: "registered" });
  });

  test.each<[string, (upstream: OAuthUpstream) => void]>([
    ["nothing answers at /token", (upstream) => upstream.documents.delete("/token")],
    [
      "/token answers 404 with an error",
      ({ documents }) => documents.set("/token", answer(404, `{"error":"Not Found"}`)),
    ],
    [
      "/token answers 400 with another error",
      ({ documents }) => documents.set("/token", answer(400, `{"error":"no"}`)),
    ],
    ["/token answers with a page", (upstream) => upstream.documents.set("/token", html)],
    ["/token answers with other JSON", (upstream) => upstream.documents.set("/token", answer(400, `{"detail":"no"}`))],
    ["/token hangs up", (upstream) => upstream.documents.set("/token", (response) => response.destroy())],
    [
      "its challenge names resource metadata",
      (upstream) => (upstream.challenge = `Bearer resource_metadata="${new URL("/missing", upstream.url).href}"`),
    ],
    [
      "its resource metadata names an authorization server",
      (upstream) => {
        const { origin } = new URL(upstream.url);
        upstream.documents.set(`${RESOURCE}/mcp`, { resource: upstream.url, authorization_servers: [origin] });
      },
    ],
  ])("is not authorized if %s", async (_title, arrange) => {
    const subject = await startSubject();
    describeNothing(subject.upstream, TOKEN_ERROR);
    arrange(subject.upstream);
    expect((await failureOf(terms(subject))).message).toContain("has no metadata");
    const offered = authorizationFor(subject, NO_REGISTRATIONS).isAvailable(
      targetOf(subject.upstream),
      AbortSignal.timeout(20_000),
    );
    expect(await offered).toBe(false);
  });
});
