import type { Dispatcher } from "undici";
import type { Target } from "./target.ts";

/**
 * An authorization server as its metadata describes it (RFC 8414). Every URL has passed the outbound destination
 * check.
 */
export interface AuthorizationServer {
  /** Compared with the `iss` parameter of responses (RFC 9207). */
  readonly issuer: string;
  readonly authorizationEndpoint: string;
  readonly tokenEndpoint: string;
  readonly revocationEndpoint: string | undefined;
  /** Whether every authorization response must carry `iss`. */
  readonly sendsIssuer: boolean;
}

/** Our client at an authorization server. */
export interface UpstreamClient {
  readonly clientId: string;
  /** Undefined for a public client. Sealed at rest. */
  readonly clientSecret: string | undefined;
  readonly authentication: "none" | "client_secret_basic" | "client_secret_post";
  /**
   * `configured` by the connection or the operator, `document` by a client ID metadata document, or `registered`
   * dynamically.
   */
  readonly source: "configured" | "document" | "registered";
  /** The scopes that a dynamic registration asked for, space-separated; undefined for other clients. */
  readonly registeredScope?: string | undefined;
}

/** The parameters for requesting, renewing and revoking tokens of one authorization. */
export interface AuthorizationTerms {
  /** The vendor's name, used in messages. */
  readonly title: string;
  readonly server: AuthorizationServer;
  readonly client: UpstreamClient;
  /**
   * The callback path below `PUBLIC_URL`. Each discovered issuer has its own path; clients that the operator
   * registered share `/authorizations/callback`.
   */
  readonly callbackPath: string;
  /** The resource indicator (RFC 8707). */
  readonly resource: string | undefined;
  /** Space-separated scopes; undefined requests the server's default. */
  readonly scope: string | undefined;
  /** Additional authorization request parameters, such as `prompt`. */
  readonly extra: Readonly<Record<string, string>>;
  /** The only origin that may receive the tokens. */
  readonly audience: string;
}

/** Binds an authorization response to its request. Values must not be reused. */
export interface AuthorizationProof {
  /** The redirect URI, exactly as registered. */
  readonly redirectUri: string;
  readonly state: string;
  /** PKCE (RFC 7636). */
  readonly codeVerifier: string;
}

export interface IssuedTokens {
  readonly accessToken: string;
  readonly refreshToken: string | undefined;
  /** The lifetime, counted from the request; undefined when the server does not state it. */
  readonly lifetimeSeconds: number | undefined;
  /** The granted scopes, when the server states them. */
  readonly scope: string | undefined;
}

/** Authorizes an integration's connections through their owners. */
export interface OwnerAuthorization {
  /** The guarded dispatcher for requests to the authorization server. */
  readonly dispatcher: Dispatcher;
  /**
   * Discovers the authorization server and registers a client where needed. `scope` is the scope that a rejected call
   * asked for. Throws TokenFailure with a message for the owner.
   */
  terms(target: Target, scope: string | undefined, signal: AbortSignal): Promise<AuthorizationTerms>;
  /** Whether the upstream supports owner authorization, as far as its metadata says. */
  isAvailable(target: Target, signal: AbortSignal): Promise<boolean>;
}

export interface AuthorizationNeed {
  /** A public sentence. */
  readonly reason: string;
  /**
   * The scopes that a rejected call asked for; the current authorization stays usable. Undefined when there is no
   * usable authorization.
   */
  readonly wantedScope?: string | undefined;
}

export const NOT_YET_AUTHORIZED = "Its owner has not authorized it yet.";

export const CHANGED_SINCE_AUTHORIZED = "Its configuration changed: its owner has to authorize it again.";
