import { randomBytes } from "node:crypto";
import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import type { AllClientMetadata } from "oidc-provider";
// The package's main file prints a warning on Node releases without an LTS name.
import { Provider } from "oidc-provider/lib/provider.js";
import { isJsonObject } from "../../../json.ts";
import type { AdapterDeps } from "./adapter.ts";
import { AUTHENTICATION_GRANT } from "../clients/client-metadata.ts";
import type { AuthenticationContext, AuthorizationContext, RequestContext, TokenContext } from "./request-context.ts";
import { AUTHORIZE_PATH, TOKEN_PATH } from "../metadata.ts";
import { invalidClient, OAuthError } from "../oauth-error.ts";
import { configureProvider, currentRequest, type ProviderDeps } from "./provider-configuration.ts";

/** The successful response of the token endpoint (RFC 6749 §5.1). */
export interface TokenResponse {
  readonly access_token: string;
  readonly token_type: string;
  readonly expires_in: number;
  readonly scope: string;
  readonly refresh_token?: string;
}

/** The response to an authorization request. If it has neither member, `context.prompt` says what is missing. */
export type AuthorizeAnswer =
  | { readonly kind: "redirect"; readonly location: string }
  | { readonly kind: "refusal"; readonly error: string; readonly description: string; readonly status: number };

/** The part of the authorization server that oidc-provider implements. */
export interface AuthorizationProvider {
  /** Handles an authorization request: redirects the browser to the client, or returns a page if that is not safe. */
  authorize(query: URLSearchParams, context: AuthorizationContext): Promise<AuthorizeAnswer>;
  /** Issues tokens to an authenticated client. Fails with an OAuthError. */
  issue(form: URLSearchParams, context: TokenContext): Promise<TokenResponse>;
  /** Returns the client that signed the form's `client_assertion`. Fails with `invalid_client`. */
  authenticate(form: URLSearchParams): Promise<AllClientMetadata>;
  /**
   * Finds a client by id and fetches its document if necessary. Returns undefined if it does not exist or cannot be
   * fetched.
   */
  findClient(clientId: string): Promise<AllClientMetadata | undefined>;
}

/** The provider's response. */
interface ProviderAnswer {
  readonly status: number;
  readonly body: unknown;
  readonly location: string;
  /** The error behind a `server_error`, for the log. */
  readonly cause: unknown;
}

function textOr(value: unknown, fallback: string): string {
  return typeof value === "string" ? value : fallback;
}

/** Throws the provider's error response as an OAuthError. */
function refuse({ status, body, cause }: ProviderAnswer): never {
  if (!isJsonObject(body) || typeof body["error"] !== "string") {
    throw new Error(`the provider answered ${status} without an error`, { cause });
  }
  const { error } = body;
  throw new OAuthError(status, error, textOr(body["error_description"], error), {}, cause);
}

function parseTokenResponse(answer: ProviderAnswer): TokenResponse {
  const { body } = answer;
  if (!isJsonObject(body)) return refuse(answer);
  const { access_token, token_type, expires_in, scope, refresh_token } = body;
  if (typeof access_token !== "string" || typeof token_type !== "string") return refuse(answer);
  if (typeof expires_in !== "number" || typeof scope !== "string") return refuse(answer);
  const refresh = typeof refresh_token === "string" ? { refresh_token } : {};
  return { access_token, token_type, expires_in, scope, ...refresh };
}

/**
 * The authorization server's flows through oidc-provider.
 *
 * The provider is given requests that are made here from checked values, and its answer is read instead of sent, so
 * nothing is stored for a browser that has not been through our own pages. Mounted by `callback()` instead, it fails 65
 * of the 125 tests of the token endpoint, such as "returns 401 invalid_client and a Basic challenge for broken base64"
 * (400 instead), "returns 413 invalid_request for a form of more than 16 KiB", "returns 400 invalid_scope for an
 * unknown scope" and "the token endpoint returns the same tokens and errors over HTTP/2", so all our checks must stay in
 * front of it. It is built again when the signing key changes.
 */
export function createAuthorizationProvider(
  deps: Omit<ProviderDeps, "context" | "internalSecret">,
): AuthorizationProvider {
  const contexts = new WeakMap<object, RequestContext>();
  const answers = new WeakMap<IncomingMessage, ProviderAnswer>();
  const causes = new WeakMap<IncomingMessage, Error>();
  const socket = new Socket();
  const { host } = new URL(deps.issuer);
  const adapterDeps: AdapterDeps = {
    ...deps,
    internalSecret: randomBytes(32).toString("base64url"),
    context: () => {
      const request = currentRequest();
      return request === undefined ? undefined : contexts.get(request);
    },
  };
  let built: { readonly kid: string; readonly provider: Provider; readonly handle: Handle } | undefined;

  function current(): NonNullable<typeof built> {
    const kid = deps.keys.current("access_token").id;
    if (built?.kid !== kid) built = { kid, ...build() };
    return built;
  }

  function build(): { provider: Provider; handle: Handle } {
    const provider = new Provider(deps.issuer, configureProvider({ ...deps, ...adapterDeps }));
    provider.registerGrantType(AUTHENTICATION_GRANT, (ctx) => {
      ctx.body = { client: ctx.oidc.client.metadata() };
    });
    provider.use(async (ctx, next) => {
      await next();
      ctx.respond = false;
      const location = ctx.response.get("location") || "";
      answers.set(ctx.req, { status: ctx.status, body: ctx.body, location, cause: causes.get(ctx.req) });
    });
    provider.on("server_error", (ctx, error) => causes.set(ctx.req, error));
    // Prevents Koa from printing to standard error; a failure without a response is thrown below.
    provider.silent = true;
    return { provider, handle: provider.callback() };
  }

  async function send(
    method: string,
    url: string,
    headers: IncomingMessage["headers"],
    context: RequestContext,
    body?: Buffer,
  ): Promise<ProviderAnswer> {
    const request = new IncomingMessage(socket);
    request.method = method;
    request.url = url;
    request.headers = { accept: "application/json", host, ...headers };
    if (body !== undefined) request.push(body);
    request.push(null);
    contexts.set(request, context);
    await current().handle(request, new ServerResponse(request));
    return answers.get(request) ?? { status: 500, body: undefined, location: "", cause: causes.get(request) };
  }

  function post(
    form: URLSearchParams,
    context: TokenContext | AuthenticationContext,
    headers = {},
  ): Promise<ProviderAnswer> {
    const body = Buffer.from(form.toString());
    const type = "application/x-www-form-urlencoded";
    const all = { "content-length": String(body.length), "content-type": type, ...headers };
    return send("POST", TOKEN_PATH, all, context, body);
  }

  return {
    async authorize(query, context) {
      // Any value works, because the adapter returns the session of the context.
      const cookie = context.session === undefined ? {} : { cookie: "_session=current" };
      const answer = await send("GET", `${AUTHORIZE_PATH}?${query.toString()}`, cookie, context);
      if (answer.location !== "") return { kind: "redirect", location: answer.location };
      const { status, body, cause } = answer;
      if (!isJsonObject(body) || typeof body["error"] !== "string" || status >= 500) {
        throw new Error(`the provider answered ${status} to an authorization request`, { cause });
      }
      return { kind: "refusal", error: body["error"], description: textOr(body["error_description"], ""), status };
    },
    async issue(form, context) {
      const clientId = encodeURIComponent(textOr(context.client.metadata.client_id, ""));
      const credentials = Buffer.from(`${clientId}:${adapterDeps.internalSecret}`).toString("base64");
      return parseTokenResponse(await post(form, context, { authorization: `Basic ${credentials}` }));
    },
    async authenticate(form) {
      const asked = new URLSearchParams({ grant_type: AUTHENTICATION_GRANT });
      for (const name of ["client_id", "client_assertion", "client_assertion_type"]) {
        const value = form.get(name);
        if (value !== null) asked.set(name, value);
      }
      const answer = await post(asked, { kind: "authentication" });
      const client = isJsonObject(answer.body) ? answer.body["client"] : undefined;
      if (isJsonObject(client)) return client;
      if (answer.status >= 500) return refuse(answer);
      throw invalidClient(deps.issuer, "The client assertion is not valid.");
    },
    async findClient(clientId) {
      try {
        return (await current().provider.Client.find(clientId))?.metadata();
      } catch (error) {
        const code = error instanceof Error && "error" in error ? error.error : undefined;
        if (code === "invalid_client" || code === "invalid_client_metadata") return undefined;
        throw error;
      }
    },
  };
}

type Handle = ReturnType<Provider["callback"]>;
