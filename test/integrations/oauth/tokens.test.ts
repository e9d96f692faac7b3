import { describe, expect, test } from "vitest";
import type { AuthorizationTerms } from "../../../src/integrations/authorization.ts";
import { redeemCode } from "../../../src/integrations/oauth/redeem-code.ts";
import { refreshTokens } from "../../../src/integrations/oauth/refresh-tokens.ts";
import { revokeTokens } from "../../../src/integrations/oauth/revoke-tokens.ts";
import type { TokenFailure } from "../../../src/integrations/oauth/token-failure.ts";
import { authorize, failureOf, newProof, obtain, STATIC_CLIENT, startSubject, termsOf } from "./support.ts";

const patient = (): AbortSignal => AbortSignal.timeout(20_000);

describe("redeeming a code", () => {
  test.each(["client_secret_basic", "client_secret_post"] as const)(
    "returns tokens to a client that authenticates by %s",
    async (authentication) => {
      const { upstream, dispatcher } = await startSubject({
        clients: [
          {
            client_id: STATIC_CLIENT.clientId,
            client_secret: STATIC_CLIENT.clientSecret ?? "",
            redirect_uris: [newProof().redirectUri],
            grant_types: ["authorization_code", "refresh_token"],
            token_endpoint_auth_method: authentication,
          },
        ],
      });
      const terms = termsOf(upstream, { client: { ...STATIC_CLIENT, authentication } });
      const tokens = await obtain(upstream, terms, dispatcher);
      expect(tokens).toMatchObject({ lifetimeSeconds: 3_600, scope: "tools.read" });
      expect(await upstream.vendor.inspect(tokens.accessToken, upstream.url)).toEqual({
        subject: "Ada",
        scope: "tools.read",
      });
      expect(upstream.vendor.authorizations.at(-1)?.get("resource")).toBe(upstream.url);
      expect(upstream.vendor.tokenRequests.at(-1)?.form.get("resource")).toBe(upstream.url);
    },
  );

  test("ignores an ID token in the answer", async () => {
    const { upstream, dispatcher } = await startSubject();
    upstream.vendor.answerToken = (_request, response) => {
      const tokens = { access_token: "a", token_type: "Bearer", id_token: "made up" };
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(tokens));
      return true;
    };
    expect(await obtain(upstream, termsOf(upstream), dispatcher)).toMatchObject({ accessToken: "a" });
  });

  const swaps: [string, (terms: AuthorizationTerms, back: URLSearchParams) => void][] = [
    ["another state", (_terms, back) => back.set("state", "another")],
    ["no state", (_terms, back) => back.delete("state")],
    ["two states", (_terms, back) => back.append("state", "another")],
    ["another issuer", (_terms, back) => back.set("iss", "https://evil.example")],
    ["no issuer where it is promised", (_terms, back) => back.delete("iss")],
    ["two codes", (_terms, back) => back.append("code", "another")],
    ["no code", (_terms, back) => back.delete("code")],
    [
      "an error of another issuer",
      (_terms, back) => {
        back.delete("code");
        back.set("error", "access_denied");
        back.set("iss", "https://evil.example");
      },
    ],
  ];
  test.each(swaps)("rejects a response with %s before anything is sent", async (_title, swap) => {
    const { upstream, dispatcher } = await startSubject();
    const [terms, proof] = [termsOf(upstream), newProof()];
    const { searchParams } = await authorize(upstream, terms, proof);
    swap(terms, searchParams);
    const failure = await failureOf(redeemCode(terms, searchParams, proof, dispatcher, patient()));
    expect(failure.kind).toBe("other");
    expect(failure.message).toContain("uthorize the connection again");
    expect(upstream.vendor.tokenRequests).toEqual([]);
  });

  test("accepts a response without an issuer from a server that does not promise it", async () => {
    const { upstream, dispatcher } = await startSubject();
    const [terms, proof] = [termsOf(upstream), newProof()];
    const mute = { ...terms, server: { ...terms.server, sendsIssuer: false } };
    const { searchParams } = await authorize(upstream, terms, proof);
    searchParams.delete("iss");
    expect(await redeemCode(mute, searchParams, proof, dispatcher, patient())).toHaveProperty("accessToken");
  });

  test("reports to the owner that the login was denied", async () => {
    const { upstream, dispatcher } = await startSubject();
    const [terms, proof] = [termsOf(upstream), newProof()];
    const address = (await authorize(upstream, terms, proof)).searchParams;
    address.delete("code");
    address.set("error", "access_denied");
    address.set("error_description", "No, <b>thanks</b>.");
    const { kind, message } = await failureOf(redeemCode(terms, address, proof, dispatcher, patient()));
    expect(kind).toBe("refused");
    expect(message).toBe(
      `The authorization server of MCP server at ${upstream.vendor.host} answered access_denied: No, <b>thanks</b>. The login was denied: authorize the connection again, and allow it.`,
    );
  });

  test("accepts a code once, and only with its verifier", async () => {
    const { upstream, dispatcher } = await startSubject();
    const [terms, proof] = [termsOf(upstream), newProof()];
    const { searchParams } = await authorize(upstream, terms, proof);
    const wrong = { ...proof, codeVerifier: newProof().codeVerifier };
    expect(await failureOf(redeemCode(terms, searchParams, wrong, dispatcher, patient()))).toMatchObject({
      kind: "ended",
    });
    const again = await authorize(upstream, terms, proof);
    await redeemCode(terms, again.searchParams, proof, dispatcher, patient());
    const failure = await failureOf(redeemCode(terms, again.searchParams, proof, dispatcher, patient()));
    expect(failure.kind).toBe("ended");
  });
});

describe("refreshing", () => {
  test("returns a new access token and the refresh token to use next", async () => {
    const { upstream, dispatcher } = await startSubject();
    const terms = termsOf(upstream);
    const first = await obtain(upstream, terms, dispatcher);
    const second = await refreshTokens(terms, first.refreshToken ?? "", dispatcher, patient());
    expect(second.refreshToken).not.toBe(first.refreshToken);
    upstream.vendor.rotates = false;
    const third = await refreshTokens(terms, second.refreshToken ?? "", dispatcher, patient());
    expect(third.refreshToken).toBe(second.refreshToken);
    expect(new Set([first, second, third].map(({ accessToken }) => accessToken)).size).toBe(3);
  });

  test.each([
    ["invalid_grant", 400, "ended"],
    ["invalid_client", 401, "ended"],
    ["unauthorized_client", 400, "ended"],
    ["bad_refresh_token", 200, "ended"],
    ["invalid_request", 400, "refused"],
    ["", 403, "refused"],
    ["temporarily_unavailable", 503, "down"],
    ["", 502, "down"],
    ["slow_down", 429, "busy"],
  ])("reports an error «%s» (HTTP %i) as kind %s", async (error, status, kind) => {
    const { upstream, dispatcher } = await startSubject();
    const terms = termsOf(upstream);
    upstream.vendor.answerToken = ({ form }, response) => {
      const said =
        error === "" ? "<html>no</html>" : JSON.stringify({ error, error_description: `echo ${String(form)}` });
      response.writeHead(status, { "content-type": "application/json", "retry-after": "7" }).end(said);
      return true;
    };
    const failure = await failureOf(refreshTokens(terms, "a-refresh-token-of-ours", dispatcher, patient()));
    expect(failure.kind).toBe(kind);
    expect(failure.message).toContain(upstream.vendor.host);
    expect(failure.message).not.toContain("a-refresh-token-of-ours");
    expect(failure.retryAfterMs).toBe(kind === "busy" ? 7_000 : undefined);
  });

  test.each([
    ["no token", JSON.stringify({ token_type: "bearer" })],
    ["a token that a header cannot carry", JSON.stringify({ access_token: "a\nb", token_type: "bearer" })],
    [
      "a refresh token that consists of spaces",
      JSON.stringify({ access_token: "a", refresh_token: "b c", token_type: "bearer" }),
    ],
    ["an unsupported token type", JSON.stringify({ access_token: "a", token_type: "mac" })],
    ["no JSON", "access_token=a&token_type=bearer"],
    ["nothing", ""],
  ])("treats an answer with %s as a temporary fault", async (_title, answer) => {
    const { upstream, dispatcher } = await startSubject();
    upstream.vendor.answerToken = (_request, response) => {
      response.writeHead(200, { "content-type": "application/json" }).end(answer);
      return true;
    };
    const failure = await failureOf(refreshTokens(termsOf(upstream), "r", dispatcher, patient()));
    expect(failure.kind).toBe("other");
  });

  test("reports a broken connection, a redirect and an endless answer", async () => {
    const { upstream, dispatcher } = await startSubject();
    const { vendor } = upstream;
    const refresh = (): Promise<TokenFailure> =>
      failureOf(refreshTokens(termsOf(upstream), "r", dispatcher, patient()));
    vendor.beforeAnswer = async () => "drop";
    expect(await refresh()).toMatchObject({ kind: "down" });
    vendor.answerToken = (_request, response) => {
      response.writeHead(307, { location: "https://evil.example/token" }).end();
      return true;
    };
    expect((await refresh()).message).toContain("Redirects are not followed");
    vendor.answerToken = (_request, response) => {
      response.writeHead(200, { "content-type": "application/json" }).end(`{"a":"${"x".repeat(300_000)}"}`);
      return true;
    };
    expect((await refresh()).message).toContain("more than a token can be");
  });

  test("rejects a token endpoint with a private address without sending anything", async () => {
    const { upstream } = await startSubject();
    const { dispatcher } = await startSubject();
    const failure = await failureOf(refreshTokens(termsOf(upstream), "r", dispatcher, patient()));
    expect(failure.kind).toBe("other");
    expect(failure.message).toContain("loopback address");
    expect(upstream.vendor.tokenRequests).toEqual([]);
  });
});

describe("revoking", () => {
  test("revokes the refresh token and the access token at the vendor", async () => {
    const { upstream, dispatcher } = await startSubject();
    const terms = termsOf(upstream);
    const tokens = await obtain(upstream, terms, dispatcher);
    await revokeTokens(terms, tokens, dispatcher, patient());
    expect(upstream.vendor.revocations.map(({ form }) => form.get("token_type_hint"))).toEqual([
      "refresh_token",
      "access_token",
    ]);
    expect(upstream.vendor.revocations.map(({ status }) => status)).toEqual([200, 200]);
    expect(await upstream.vendor.inspect(tokens.accessToken, upstream.url)).toBeUndefined();
    const failure = await failureOf(refreshTokens(terms, tokens.refreshToken ?? "", dispatcher, patient()));
    expect(failure.kind).toBe("ended");
  });

  test("sends nothing to a server without a revocation endpoint", async () => {
    const { upstream, dispatcher } = await startSubject();
    const terms = termsOf(upstream);
    const mute = { ...terms, server: { ...terms.server, revocationEndpoint: undefined } };
    await revokeTokens(mute, { accessToken: "a", refreshToken: "r" }, dispatcher, patient());
    expect(upstream.vendor.revocations).toEqual([]);
  });
});
