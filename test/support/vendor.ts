import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair } from "jose";
import type { Adapter, AdapterPayload, ClientMetadata, Configuration, JWK } from "oidc-provider";
import { InvalidGrant } from "oidc-provider/lib/helpers/errors.js";
import { Provider } from "oidc-provider/lib/provider.js";
import type { JsonObject } from "../../src/json.ts";

/** How a client is registered. */
export type Registration = "dynamic" | "document" | "static";

/** Fixed settings of a vendor's authorization server. */
export interface VendorOptions {
  /** The path of its issuer, such as `/tenant`. Default: none. */
  readonly issuerPath?: string;
  /** Default: dynamic registration. The clients in `clients` are known as well. */
  readonly registration?: readonly Registration[];
  readonly clients?: readonly ClientMetadata[];
  /** The scopes of resources. Default: `tools.read` and `tools.admin`. */
  readonly scopes?: readonly string[];
  /** The paths of its endpoints, if they differ from the provider's. */
  readonly routes?: { readonly authorization: string; readonly token: string; readonly revocation?: string };
  /** How it reads Client ID Metadata Documents. */
  readonly fetchDocument?: (address: string) => Promise<Response>;
  /**
   * The resources that tokens are issued for (RFC 8707). Default: any. The first one applies if a request names none.
   */
  readonly resources?: () => readonly string[];
}

/** A request to its token endpoint. */
export interface TokenRequest {
  readonly grantType: string;
  readonly form: URLSearchParams;
  readonly authorization: string | undefined;
  /** The status of the response; 0 before it. */
  status: number;
}

/** A vendor's authorization server: a real `oidc-provider` on loopback that a test controls. */
export interface Vendor {
  /** `host:port`, for OUTBOUND_ALLOW. */
  readonly host: string;
  readonly origin: string;
  readonly issuer: string;
  /**
   * JSON served at well-known paths. Default: the provider's metadata at the path of RFC 8414. A function handles the
   * request itself.
   */
  readonly documents: Map<string, JsonObject | ((response: ServerResponse) => void)>;
  /** The provider's own metadata. */
  readonly metadata: JsonObject;
  /** The lifetime in seconds. Can be changed at any time. */
  readonly ttl: { accessToken: number; refreshToken: number };
  /** Whether refresh tokens rotate, and a reused one revokes the grant. */
  rotates: boolean;
  /** Whether a code exchange also returns a refresh token. */
  givesRefreshTokens: boolean;
  /** Handles a token request instead of the provider if it returns true. */
  answerToken: ((request: TokenRequest, response: ServerResponse) => boolean) | undefined;
  /**
   * Runs after the provider has processed a token request and before it responds. It can delay the response, or close
   * the connection with `drop`.
   */
  beforeAnswer: ((request: TokenRequest) => Promise<"drop" | "send">) | undefined;
  /** Handles requests outside the provider's paths, for a vendor whose API has the same origin. */
  serve: ((request: IncomingMessage, response: ServerResponse) => Promise<void>) | undefined;
  /** Can change the redirect after consent. */
  onRedirect: ((address: URL) => void) | undefined;
  readonly tokenRequests: TokenRequest[];
  readonly revocations: { readonly form: URLSearchParams; status: number }[];
  /** The authorization requests received. */
  readonly authorizations: URLSearchParams[];
  /** The bodies of client registrations. */
  readonly registrations: JsonObject[];
  /** Every token, code and client secret that it issued. None of them may appear in the service's output. */
  readonly secrets: Set<string>;
  /** Registers a client whose redirect address is known only after the vendor has started. */
  know(client: ClientMetadata): Promise<void>;
  /** The number of refreshes received. */
  refreshes(): number;
  /** The owner and scopes of a token; undefined if it is not valid at the resource. */
  inspect(token: string, resource: string): Promise<{ readonly subject: string; readonly scope: string } | undefined>;
  /** Invalidates all issued access tokens. Refresh tokens stay valid. */
  expireTokens(): void;
  /** Revokes every authorization with its access and refresh tokens. */
  endGrants(): void;
  /**
   * Opens the address, logs in and consents (or refuses) like a person. Returns the redirect to the client, without
   * opening it. Throws with the page if there is none.
   */
  logIn(authorizationUrl: string, options?: { readonly name?: string; readonly consents?: boolean }): Promise<string>;
  close(): Promise<void>;
}

const INTERACTION = /^\/interaction\/([\w-]+)$/;
const MAX_HOPS = 10;

/** An in-memory adapter that consumes tokens atomically, unlike the package's own. */
function createMemory(): { adapter: (model: string) => Adapter; clear: (...models: string[]) => void } {
  const rows = new Map<string, AdapterPayload>();
  const ended = new Set<string>();
  const adapter = (model: string): Adapter => ({
    upsert: async (id, payload) => void rows.set(`${model} ${id}`, payload),
    find: async (id) => {
      const row = rows.get(`${model} ${id}`);
      return row === undefined || ended.has(row.grantId ?? "") ? undefined : { ...row };
    },
    findByUserCode: async () => undefined,
    findByUid: async (uid) => [...rows.values()].find((row) => row.kind === model && row.uid === uid),
    destroy: async (id) => void rows.delete(`${model} ${id}`),
    revokeByGrantId: async (grantId) => void ended.add(grantId),
    consume: async (id) => {
      const row = rows.get(`${model} ${id}`);
      if (row?.consumed !== undefined) throw new InvalidGrant("it was used already");
      if (row !== undefined) rows.set(`${model} ${id}`, { ...row, consumed: Math.floor(Date.now() / 1_000) });
    },
  });
  const clear = (...models: string[]): void => {
    for (const key of rows.keys()) if (models.includes(key.split(" ")[0] ?? "")) rows.delete(key);
  };
  return { adapter, clear };
}

async function createSigningKey(): Promise<JWK> {
  const { privateKey } = await generateKeyPair("ES256", { extractable: true });
  return { ...(await exportJWK(privateKey)), alg: "ES256", kid: "1" };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk as Uint8Array));
  return Buffer.concat(chunks).toString();
}

export async function startVendor(options: VendorOptions = {}): Promise<Vendor> {
  const { issuerPath = "", registration = ["dynamic"], scopes = ["tools.read", "tools.admin"] } = options;
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const origin = `http://${host}`;
  const issuer = `${origin}${issuerPath}`;
  const memory = createMemory();
  const routes = { authorization: "/auth", token: "/token", revocation: "/token/revocation", ...options.routes };
  const ttl = { accessToken: 3_600, refreshToken: 86_400 };

  const configuration: Configuration = {
    adapter: memory.adapter,
    clients: [...(options.clients ?? [])],
    cookies: { keys: ["a key of a test"] },
    jwks: { keys: [await createSigningKey()] },
    clientDefaults: { id_token_signed_response_alg: "ES256" },
    scopes: ["openid", "offline_access", ...scopes],
    ttl: {
      AccessToken: () => ttl.accessToken,
      RefreshToken: () => ttl.refreshToken,
      AuthorizationCode: 60,
      Interaction: 600,
      Grant: 86_400,
      Session: 600,
      IdToken: 600,
    },
    routes,
    pkce: { required: () => true },
    responseTypes: ["code"],
    clientAuthMethods: ["none", "client_secret_basic", "client_secret_post"],
    issueRefreshToken: (_ctx, client) => vendor.givesRefreshTokens && client.grantTypeAllowed("refresh_token"),
    rotateRefreshToken: () => vendor.rotates,
    expiresWithSession: () => false,
    findAccount: (_ctx, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
    interactions: { url: (_ctx, { uid }) => `${issuerPath}/interaction/${uid}` },
    renderError: (ctx, out) => {
      ctx.type = "html";
      ctx.body = `<!doctype html><title>Vendor</title><p>${JSON.stringify(out)}</p>`;
    },
    loadExistingGrant: async (ctx) => {
      const { client, session, params, resourceServers = {} } = ctx.oidc;
      if (client === undefined || session?.accountId === undefined) return undefined;
      const grant = new ctx.oidc.provider.Grant({ clientId: client.clientId, accountId: session.accountId });
      const wanted = String(params?.["scope"] ?? "");
      grant.addOIDCScope(wanted);
      for (const resource of Object.keys(resourceServers)) grant.addResourceScope(resource, wanted);
      await grant.save();
      return grant;
    },
    ...(options.fetchDocument !== undefined && {
      fetch: (address: string | URL | Request) => {
        const text = address instanceof Request ? address.url : String(address);
        return options.fetchDocument?.(text) ?? fetch(text);
      },
    }),
    features: {
      devInteractions: { enabled: false },
      userinfo: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      clientCredentials: { enabled: true },
      revocation: { enabled: true },
      registration: { enabled: registration.includes("dynamic") },
      clientIdMetadataDocument: { enabled: registration.includes("document"), ack: "draft-02" },
      resourceIndicators: {
        enabled: true,
        defaultResource: (_ctx, _client, oneOf) => oneOf?.[0] ?? options.resources?.()[0] ?? origin,
        getResourceServerInfo: (_ctx, resource) => {
          const known = options.resources?.();
          if (known !== undefined && !known.includes(resource)) throw new InvalidGrant("unknown resource");
          return {
            scope: scopes.join(" "),
            audience: resource,
            accessTokenFormat: "opaque",
            accessTokenTTL: ttl.accessToken,
          };
        },
      },
    },
  };
  const provider = new Provider(issuer, configuration);
  const handle = provider.callback();
  const given = new Set<string>();
  const refused = new Set<string>();

  const vendor: Vendor = {
    host,
    origin,
    issuer,
    documents: new Map(),
    metadata: {},
    ttl,
    rotates: true,
    givesRefreshTokens: true,
    answerToken: undefined,
    beforeAnswer: undefined,
    serve: undefined,
    onRedirect: undefined,
    tokenRequests: [],
    revocations: [],
    authorizations: [],
    registrations: [],
    secrets: new Set(),
    know: async (client) => {
      await memory.adapter("Client").upsert(client.client_id, client, 0);
    },
    refreshes: () => vendor.tokenRequests.filter(({ grantType }) => grantType === "refresh_token").length,
    inspect: async (token, resource) => {
      if (refused.has(token)) return undefined;
      const found = (await provider.AccessToken.find(token)) ?? (await provider.ClientCredentials.find(token));
      if (!found?.isValid) return undefined;
      if (![found.aud].flat().includes(resource)) return undefined;
      return { subject: "accountId" in found ? found.accountId : (found.clientId ?? ""), scope: found.scope ?? "" };
    },
    expireTokens: () => given.forEach((token) => refused.add(token)),
    endGrants: () => memory.clear("Grant", "AccessToken", "RefreshToken", "AuthorizationCode"),
    logIn: (address, { name = "Vera", consents = true } = {}) => logIn(address, name, consents),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? "", origin);
    const document = vendor.documents.get(pathname);
    if (typeof document === "function") {
      document(response);
      return;
    }
    if (document !== undefined) {
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(document));
      return;
    }
    const own = pathname.startsWith(`${issuerPath}/`) ? pathname.slice(issuerPath.length) : "";
    const known = ["/interaction", "/.well-known", "/reg", ...Object.values(routes)];
    if (vendor.serve !== undefined && !known.some((path) => own.startsWith(path))) {
      await vendor.serve(request, response);
      return;
    }
    if (own.startsWith("/.well-known/") && request.headers["x-of-itself"] === undefined) {
      response.writeHead(404).end();
      return;
    }
    if (INTERACTION.test(own)) return interact(request, response);
    const isAuthorization = own === routes.authorization && request.method === "GET";
    // A request without scopes gets the first scope; by default the provider would grant none.
    const given = isAuthorization && !searchParams.has("scope") ? `&scope=${scopes[0] ?? ""}` : "";
    const address = `${request.url ?? ""}${given}`;
    const mounted = Object.assign(request, { originalUrl: address, url: address.slice(issuerPath.length) });
    if (isAuthorization) vendor.authorizations.push(searchParams);
    if (own.startsWith(routes.authorization)) watchRedirect(response);
    if (request.method !== "POST") return handle(mounted, response);
    const body = await bodyOf(request);
    const form = new URLSearchParams(body);
    if (own === routes.token)
      return answerToken(Object.assign(mounted, { body: Object.fromEntries(form) }), response, form);
    if (own === "/reg") {
      const asked = JSON.parse(body) as JsonObject;
      vendor.registrations.push(asked);
      keepSecrets(response);
      return handle(Object.assign(mounted, { body: asked }), response);
    }
    if (own === routes.revocation) {
      const revocation = { form, status: 0 };
      vendor.revocations.push(revocation);
      response.once("finish", () => (revocation.status = response.statusCode));
    }
    return handle(Object.assign(mounted, { body: Object.fromEntries(form) }), response);
  }

  async function answerToken(request: IncomingMessage, response: ServerResponse, form: URLSearchParams): Promise<void> {
    const grantType = form.get("grant_type") ?? "";
    const seen: TokenRequest = { grantType, form, authorization: request.headers.authorization, status: 0 };
    vendor.tokenRequests.push(seen);
    for (const secret of ["code", "code_verifier", "client_secret"]) {
      const value = form.get(secret);
      if (value !== null) vendor.secrets.add(value);
    }
    response.once("finish", () => (seen.status = response.statusCode));
    if (vendor.answerToken?.(seen, response) === true) return;
    keepSecrets(response, async () => (await vendor.beforeAnswer?.(seen)) ?? "send");
    await handle(request, response);
  }

  /** Records issued secrets and delays responses as configured. */
  function keepSecrets(response: ServerResponse, hold?: () => Promise<"drop" | "send">): void {
    const end = response.end.bind(response);
    response.end = (chunk?: unknown) => {
      const text = Buffer.isBuffer(chunk) || typeof chunk === "string" ? chunk.toString() : "{}";
      const said = JSON.parse(text) as JsonObject;
      for (const name of ["access_token", "refresh_token", "client_secret", "registration_access_token"]) {
        const value = said[name];
        if (typeof value === "string") vendor.secrets.add(value);
        if (typeof value === "string" && name === "access_token") given.add(value);
      }
      void Promise.resolve(hold?.()).then((word) => {
        if (word === "drop") response.destroy();
        else end(text);
      });
      return response;
    };
  }

  function watchRedirect(response: ServerResponse): void {
    const setHeader = response.setHeader.bind(response);
    response.setHeader = (name, value) => {
      if (name.toLowerCase() !== "location" || typeof value !== "string") return setHeader(name, value);
      const address = new URL(value, origin);
      if (address.origin === origin) return setHeader(name, value);
      vendor.onRedirect?.(address);
      return setHeader(name, address.href);
    };
  }

  /** The vendor's only page: login and consent. */
  async function interact(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== "POST") {
      response.setHeader("content-type", "text/html");
      response.end(
        `<!doctype html><title>Vendor</title><h1>Log in at the vendor</h1><form method="post"><input name="name" aria-label="Name" value="Vera">` +
          `<button name="decision" value="allow">Allow</button><button name="decision" value="deny">Deny</button></form>`,
      );
      return;
    }
    const form = new URLSearchParams(await bodyOf(request));
    const result =
      form.get("decision") === "allow"
        ? { login: { accountId: form.get("name") ?? "Vera" }, consent: {} }
        : { error: "access_denied", error_description: "The person refused." };
    await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
  }

  async function logIn(authorizationUrl: string, name: string, consents: boolean): Promise<string> {
    const cookies = new Map<string, string>();
    let address = new URL(authorizationUrl);
    for (let hop = 0; hop < MAX_HOPS; hop += 1) {
      if (address.origin !== origin) return address.href;
      const isPage = INTERACTION.test(address.pathname.slice(issuerPath.length));
      const answered = await fetch(address, {
        redirect: "manual",
        headers: { cookie: [...cookies].map(([key, value]) => `${key}=${value}`).join("; ") },
        ...(isPage && {
          method: "POST",
          body: new URLSearchParams({ name, decision: consents ? "allow" : "deny" }),
        }),
      });
      for (const line of answered.headers.getSetCookie()) {
        const [, key = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
        cookies.set(key, value);
      }
      const next = answered.headers.get("location");
      if (next === null) throw new Error(`the vendor returned ${answered.status}: ${await answered.text()}`);
      address = new URL(next, address);
    }
    throw new Error("too many redirects by the vendor");
  }

  const metadata = await fetch(`${issuer}/.well-known/openid-configuration`, { headers: { "x-of-itself": "yes" } });
  Object.assign(vendor.metadata, await metadata.json());
  vendor.documents.set(`/.well-known/oauth-authorization-server${issuerPath}`, { ...vendor.metadata });
  return vendor;
}
