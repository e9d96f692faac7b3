import { randomBytes } from "node:crypto";
import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import type { Adapter, Configuration, JWTStructured } from "oidc-provider";
// Not from the package's main file, which prints a warning on Node releases without an LTS name.
import { InvalidGrant, InvalidTarget } from "oidc-provider/lib/helpers/errors.js";
import { Provider } from "oidc-provider/lib/provider.js";
import { isJsonObject } from "../../json.ts";
import type { TokenClient } from "../clients.ts";
import { SCOPES } from "../scopes.ts";
import type { SigningKeys } from "../signing-keys.ts";
import { accessTokenId } from "../token-id.ts";
import { KEYS_PATH, TOKEN_PATH } from "./metadata.ts";
import { OAuthError } from "./oauth-error.ts";
import type { TokenRequest } from "./token-request.ts";

/** Seconds that an access token lives (SPEC «Limits»). */
const ACCESS_TOKEN_SECONDS = 3_600;

/** An authenticated client and the checked request it makes. */
export interface Grant extends TokenRequest {
  readonly client: TokenClient;
}

/** The successful answer of the token endpoint (SPEC «OAuth 2.0 client credentials»). */
export interface TokenResponse {
  readonly access_token: string;
  readonly token_type: string;
  readonly expires_in: number;
  readonly scope: string;
}

/** Issues the token of a checked request. */
export type IssueToken = (grant: Grant) => Promise<TokenResponse>;

/** The grants under way, by the request that carries each through the provider. */
type Grants = WeakMap<IncomingMessage, Grant>;

/** The provider compares secrets as text, so it is shown the stored hash on both sides and never the secret. */
function shownSecret(client: TokenClient): string {
  return Buffer.from(client.secretHash ?? randomBytes(32)).toString("base64url");
}

/** The claims of an access token: SPEC «Personal access token» has the table, DESIGN §6 «claims» what is added. */
function claimsOf(
  { client, scopes, audience }: Grant,
  issuer: string,
  issued: JWTStructured["payload"],
): JWTStructured["payload"] {
  return {
    iss: issuer,
    aud: audience,
    sub: client.accountId,
    client_id: client.clientId,
    scopes: [...scopes],
    scope: scopes.join(" "),
    token_use: "access",
    token_type: "oauth",
    ...(client.connectionId === undefined ? {} : { mcp_server_id: client.connectionId }),
    iat: issued.iat,
    exp: issued.exp,
    jti: accessTokenId(client.moment),
  };
}

/** Clients come with the grant under way; the client-credentials grant stores nothing else. */
function createAdapter(grants: Grants): Adapter {
  const refuse = (): never => {
    throw new Error("no grant that stores anything is offered");
  };
  return {
    async find(id) {
      const request = Provider.ctx?.req;
      const client = request === undefined ? undefined : grants.get(request)?.client;
      if (client?.clientId !== id) return undefined;
      return {
        client_id: id,
        client_secret: shownSecret(client),
        grant_types: ["client_credentials"],
        response_types: [],
        redirect_uris: [],
        token_endpoint_auth_method: "client_secret_basic",
      };
    },
    upsert: async () => refuse(),
    findByUserCode: async () => refuse(),
    findByUid: async () => refuse(),
    consume: async () => refuse(),
    destroy: async () => refuse(),
    revokeByGrantId: async () => refuse(),
  };
}

function configure(issuer: string, keys: SigningKeys, grants: Grants): Configuration {
  const { id: kid, privateJwk } = keys.current("access_token");
  return {
    adapter: () => createAdapter(grants),
    jwks: { keys: [privateJwk] },
    clientDefaults: { id_token_signed_response_alg: "ES256" },
    clientAuthMethods: ["client_secret_basic"],
    cookies: { keys: [randomBytes(32).toString("base64url")] },
    responseTypes: ["code"],
    routes: { token: TOKEN_PATH, jwks: KEYS_PATH },
    scopes: [...SCOPES],
    ttl: { ClientCredentials: ACCESS_TOKEN_SECONDS },
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      dPoP: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      userinfo: { enabled: false },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (ctx, resource) => {
          if (grants.get(ctx.req)?.audience !== resource) throw new InvalidTarget();
          return {
            scope: SCOPES.join(" "),
            audience: resource,
            accessTokenFormat: "jwt",
            jwt: { sign: { alg: "ES256", kid } },
          };
        },
      },
    },
    formats: {
      customizers: {
        jwt: (ctx, _token, parts) => {
          const grant = grants.get(ctx.req);
          if (grant === undefined) throw new InvalidGrant("no grant is under way");
          parts.payload = claimsOf(grant, issuer, parts.payload);
        },
      },
    },
  };
}

/** What the provider made of a request. */
interface ProviderAnswer {
  readonly status: number;
  readonly body: unknown;
  /** For the log: the error behind a `server_error`. */
  readonly cause: unknown;
}

function parseTokenResponse({ status, body, cause }: ProviderAnswer): TokenResponse {
  if (!isJsonObject(body)) throw new Error(`the provider answered ${status} without JSON`, { cause });
  const { access_token, token_type, expires_in, scope, error, error_description } = body;
  if (typeof error === "string") {
    const description = typeof error_description === "string" ? error_description : error;
    throw new OAuthError(status, error, description, {}, cause);
  }
  if (typeof access_token === "string" && typeof token_type === "string") {
    if (typeof expires_in === "number" && typeof scope === "string")
      return { access_token, token_type, expires_in, scope };
  }
  throw new Error("the provider's answer lacks a member");
}

/**
 * Issues tokens through oidc-provider.
 *
 * The provider is given requests that are made here from checked values, and its answer is read instead of sent: what it
 * would do with unknown scopes, HTML callers, Origin headers or paths in other letters therefore reaches nobody.
 */
export function createIssueToken({
  issuer,
  keys,
}: {
  readonly issuer: string;
  readonly keys: SigningKeys;
}): IssueToken {
  const grants: Grants = new WeakMap();
  const answers = new WeakMap<IncomingMessage, ProviderAnswer>();
  const causes = new WeakMap<IncomingMessage, Error>();
  const provider = new Provider(issuer, configure(issuer, keys, grants));
  provider.use(async (ctx, next) => {
    await next();
    ctx.respond = false;
    answers.set(ctx.req, { status: ctx.status, body: ctx.body, cause: causes.get(ctx.req) });
  });
  provider.on("server_error", (ctx, error) => causes.set(ctx.req, error));
  // Koa would print to standard error; what fails there has no answer and so is thrown below.
  provider.silent = true;
  const handle = provider.callback();
  const socket = new Socket();

  return async (grant) => {
    const form = new URLSearchParams({
      grant_type: "client_credentials",
      scope: grant.scopes.join(" "),
      resource: grant.audience,
    });
    const body = Buffer.from(form.toString());
    const basic = Buffer.from(`${grant.client.clientId}:${shownSecret(grant.client)}`).toString("base64");
    const request = new IncomingMessage(socket);
    request.method = "POST";
    request.url = TOKEN_PATH;
    request.headers = {
      accept: "application/json",
      authorization: `Basic ${basic}`,
      "content-length": String(body.length),
      "content-type": "application/x-www-form-urlencoded",
      host: "localhost",
    };
    request.push(body);
    request.push(null);
    grants.set(request, grant);
    await handle(request, new ServerResponse(request));
    return parseTokenResponse(answers.get(request) ?? { status: 500, body: undefined, cause: causes.get(request) });
  };
}
