import { readFile } from "node:fs/promises";
import type { Dispatcher } from "undici";
import { describe, expect, onTestFinished, test } from "vitest";
import { authMethodsOf } from "../../../src/integrations/authentication.ts";
import { loadCatalog } from "../../../src/integrations/catalog/load-catalog.ts";
import type { Integration } from "../../../src/integrations/integration.ts";
import type { Target } from "../../../src/integrations/target.ts";
import type { AuthorizationTerms, IssuedTokens } from "../../../src/integrations/authorization.ts";
import { authorizationRequest } from "../../../src/integrations/oauth/authorization-request.ts";
import { redeemCode } from "../../../src/integrations/oauth/redeem-code.ts";
import { refreshTokens } from "../../../src/integrations/oauth/refresh-tokens.ts";
import { revokeTokens } from "../../../src/integrations/oauth/revoke-tokens.ts";
import { TokenFailure } from "../../../src/integrations/oauth/token-failure.ts";
import type { OwnerTokens } from "../../../src/integrations/openapi/requests/call-context.ts";
import { readContract } from "../../../src/integrations/openapi/contract.ts";
import type { JsonObject } from "../../../src/json.ts";
import { createGuardedDispatcher } from "../../../src/outbound/guarded-dispatcher.ts";
import { startVendor, type Vendor } from "../../support/vendor.ts";
import { newProof, REDIRECT_URI, STATIC_CLIENT } from "../oauth/support.ts";

const FOLDER = new URL("../../../openapi/integrations/", import.meta.url);
const CLIENT = { clientId: STATIC_CLIENT.clientId, clientSecret: STATIC_CLIENT.clientSecret ?? "" };
const LOGINS = ["airtable", "asana", "github", "gitlab"] as const;
const patient = (): AbortSignal => AbortSignal.timeout(20_000);

/** A vendor whose authorization server and API share one origin, and an integration that calls it. */
interface Stage {
  readonly vendor: Vendor;
  readonly integration: Integration;
  readonly dispatcher: Dispatcher;
  /** The Authorization headers that the API received, with their status. */
  readonly called: { readonly path: string; readonly authorization: string | undefined; readonly ok: boolean }[];
  logIn(configuration?: JsonObject): Promise<{ readonly terms: AuthorizationTerms; readonly tokens: IssuedTokens }>;
}

function target(configuration: JsonObject = {}): Target {
  return { accountId: "1", connectionId: 1, keyVersion: 1, configuration, authMethod: "oauth2" };
}

async function catalogOf(
  dispatcher: Dispatcher,
  baseUrls: ReadonlyMap<string, string>,
  clients: readonly string[],
  ownerTokens: OwnerTokens,
): Promise<ReadonlyMap<string, Integration>> {
  return loadCatalog({
    folder: FOLDER.pathname,
    dispatcher,
    baseUrls,
    others: [],
    ownerTokens,
    oauthClients: new Map(clients.map((name) => [name, CLIENT])),
  });
}

const NO_TOKENS: OwnerTokens = {
  current: () => {
    throw new TokenFailure("ended", "Its owner has not authorized it yet.");
  },
  renewed: async () => {
    throw new TokenFailure("ended", "Its owner has not authorized it yet.");
  },
  forget: () => undefined,
};

function pathOf(address: string | undefined): string {
  return address === undefined ? "/revoke" : new URL(address.replace("{base_url}", "https://x")).pathname;
}

async function startStage(name: (typeof LOGINS)[number]): Promise<Stage> {
  const contract = readContract(await readFile(new URL(`${name}.yaml`, FOLDER), "utf8"));
  const { ownerScheme } = contract;
  if (ownerScheme === undefined) throw new Error(`${name} has no login`);
  const vendor = await startVendor({
    registration: [],
    scopes: ["any", ...ownerScheme.scopes],
    routes: {
      authorization: pathOf(ownerScheme.authorization.url),
      token: pathOf(ownerScheme.token.url),
      revocation: pathOf(ownerScheme.revocation?.url),
    },
    clients: [
      {
        client_id: CLIENT.clientId,
        client_secret: CLIENT.clientSecret,
        redirect_uris: [REDIRECT_URI],
        grant_types: ["authorization_code", "refresh_token"],
        token_endpoint_auth_method: ownerScheme.authentication,
      },
    ],
  });
  const called: Stage["called"][number][] = [];
  vendor.serve = async (request, response) => {
    const { authorization } = request.headers;
    const found = await vendor.inspect(authorization?.replace(/^Bearer /, "") ?? "", vendor.origin);
    called.push({ path: request.url ?? "", authorization, ok: found !== undefined });
    response.writeHead(found === undefined ? 401 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify({ login: found?.subject, scope: found?.scope }));
  };
  const dispatcher = createGuardedDispatcher({ allow: [vendor.host] });
  onTestFinished(async () => {
    await dispatcher.destroy();
    await vendor.close();
  });
  let held: { readonly terms: AuthorizationTerms; tokens: IssuedTokens } | undefined;
  const holder = (origin: string) => {
    if (held === undefined) throw new TokenFailure("ended", "Its owner has not authorized it yet.");
    if (held.terms.audience !== origin) throw new TokenFailure("other", "The tokens were issued for another origin.");
    return held;
  };
  const tokens: OwnerTokens = {
    current: (_target, origin) => holder(origin).tokens.accessToken,
    renewed: async (_target, origin, _refused, signal) => {
      const mine = holder(origin);
      mine.tokens = await refreshTokens(mine.terms, mine.tokens.refreshToken ?? "", dispatcher, signal);
      return mine.tokens.accessToken;
    },
    forget: () => (held = undefined),
  };
  const catalog = await catalogOf(dispatcher, new Map([[name, vendor.origin]]), [name], tokens);
  const integration = catalog.get(name);
  if (integration?.authorization === undefined) throw new Error(`${name} offers no login`);
  const { authorization } = integration;
  return {
    vendor,
    integration,
    dispatcher,
    called,
    async logIn(configuration = {}) {
      const terms = await authorization.terms(target(configuration), undefined, patient());
      const proof = newProof();
      const back = new URL(await vendor.logIn(authorizationRequest(terms, proof).href, { name: "Ada" }));
      const issued = await redeemCode(terms, back.searchParams, proof, dispatcher, patient());
      held = { terms, tokens: issued };
      return held;
    },
  };
}

describe.each(LOGINS)("%s", (name) => {
  test("logs its owner in and calls its tools with the token instead of a key", async () => {
    const { integration, logIn, called, vendor } = await startStage(name);
    const { terms, tokens } = await logIn();
    expect(terms.audience).toBe(vendor.origin);
    expect(await integration.verify(target(), { signal: patient() })).toEqual({ outcome: "verified" });
    expect(called.at(-1)).toMatchObject({ authorization: `Bearer ${tokens.accessToken}`, ok: true });
  });

  test("renews a rejected token and repeats the call", async () => {
    const { integration, logIn, called, vendor } = await startStage(name);
    await logIn();
    vendor.expireTokens();
    expect(await integration.verify(target(), { signal: patient() })).toEqual({ outcome: "verified" });
    expect(called.map(({ ok }) => ok)).toEqual([false, true]);
    expect(vendor.refreshes()).toBe(1);
  });

  test("asks the owner to log in again after the authorization expired", async () => {
    const { integration, logIn, vendor } = await startStage(name);
    await logIn();
    vendor.endGrants();
    const seen = await integration.verify(target(), { signal: patient() });
    expect(seen).toMatchObject({ outcome: "needs_authorization" });
  });
});

test.each(["asana", "gitlab"] as const)("revokes the tokens of %s at the vendor", async (name) => {
  const { logIn, vendor, dispatcher } = await startStage(name);
  const { terms, tokens } = await logIn();
  await revokeTokens(terms, tokens, dispatcher, patient());
  expect(vendor.revocations.map(({ status }) => status)).toEqual([200, 200]);
  expect(await vendor.inspect(tokens.accessToken, vendor.origin)).toBeUndefined();
});

test("uses the vendors' real URLs for logins, and sends tokens only to their APIs", async () => {
  const dispatcher = createGuardedDispatcher({ allow: [] });
  const catalog = await catalogOf(dispatcher, new Map(), LOGINS, NO_TOKENS);
  const places = await Promise.all(
    LOGINS.map(async (name) => {
      const terms = await catalog.get(name)?.authorization?.terms(target(), undefined, patient());
      return [terms?.server.authorizationEndpoint, terms?.server.tokenEndpoint, terms?.audience];
    }),
  );
  expect(places).toEqual([
    ["https://airtable.com/oauth2/v1/authorize", "https://airtable.com/oauth2/v1/token", "https://api.airtable.com"],
    ["https://app.asana.com/-/oauth_authorize", "https://app.asana.com/-/oauth_token", "https://app.asana.com"],
    [
      "https://github.com/login/oauth/authorize",
      "https://github.com/login/oauth/access_token",
      "https://api.github.com",
    ],
    ["https://gitlab.com/oauth/authorize", "https://gitlab.com/oauth/token", "https://gitlab.com"],
  ]);
  await dispatcher.destroy();
});

test.each(["github", "gitlab"])(
  "never uses the operator's client of %s at an address that the caller chooses",
  async (name) => {
    const dispatcher = createGuardedDispatcher({ allow: [] });
    const catalog = await catalogOf(dispatcher, new Map(), LOGINS, NO_TOKENS);
    const authorization = catalog.get(name)?.authorization;
    const elsewhere = target({ base_url: "https://evil.example" });
    await expect(authorization?.terms(elsewhere, undefined, patient())).rejects.toThrow("at its own address alone");
    await dispatcher.destroy();
  },
);

test("offers a login only if the operator configured a client; a key stays possible", async () => {
  const dispatcher = createGuardedDispatcher({ allow: [] });
  const catalog = await catalogOf(dispatcher, new Map(), ["github"], NO_TOKENS);
  const methods = ["github", "gitlab"].map((name) => {
    const integration = catalog.get(name);
    return integration === undefined ? [] : authMethodsOf(integration);
  });
  expect(methods).toEqual([["api_key", "oauth2"], ["api_key"]]);
  await dispatcher.destroy();
});

test("refuses to start with a client for an integration that is unknown or has no login", async () => {
  const dispatcher = createGuardedDispatcher({ allow: [] });
  await expect(catalogOf(dispatcher, new Map(), ["stripe"], NO_TOKENS)).rejects.toThrow(
    "INTEGRATION_OAUTH_CLIENTS: connections of type stripe have no login by OAuth.",
  );
  await expect(catalogOf(dispatcher, new Map(), ["githib"], NO_TOKENS)).rejects.toThrow(
    'INTEGRATION_OAUTH_CLIENTS: unknown server_type "githib"; did you mean "github"?',
  );
  await dispatcher.destroy();
});
