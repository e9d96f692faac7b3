import type { Dispatcher } from "undici";
import type { Target } from "./target.ts";

/** An authorization server, as its metadata describes it (RFC 8414). Every address has passed the outbound guard's check. */
export interface AuthorizationServer {
  /** Compared with the `iss` of its answers (RFC 9207). */
  readonly issuer: string;
  readonly authorizationEndpoint: string;
  readonly tokenEndpoint: string;
  readonly revocationEndpoint: string | undefined;
  /** Whether every answer to an authorization request must carry `iss`. */
  readonly sendsIssuer: boolean;
}

/** Who we are at an authorization server. */
export interface UpstreamClient {
  readonly clientId: string;
  /** Undefined for a public client. Sealed at rest. */
  readonly clientSecret: string | undefined;
  readonly authentication: "none" | "client_secret_basic" | "client_secret_post";
  /**
   * How it came to be known there: by the configuration of the connection or of the operator, by the document at its own
   * address, or by dynamic registration.
   */
  readonly source: "configured" | "document" | "registered";
}

/** With what tokens of one authorization are asked for, renewed and revoked. */
export interface AuthorizationTerms {
  /** The third party, as its name appears in sentences. */
  readonly title: string;
  readonly server: AuthorizationServer;
  readonly client: UpstreamClient;
  /**
   * The path below `PUBLIC_URL` that this issuer sends people back to. A discovered issuer has one of its own; those that an
   * operator registered this installation at share `/authorizations/callback`.
   */
  readonly callbackPath: string;
  /** The resource indicator (RFC 8707), where the third party takes one. */
  readonly resource: string | undefined;
  /** Space-separated; undefined for what the server gives by itself. */
  readonly scope: string | undefined;
  /** Parameters of the authorization request beyond those of OAuth, such as `prompt` or a vendor's own. */
  readonly extra: Readonly<Record<string, string>>;
  /** The only origin that the tokens may be sent to: the one that they are issued for. */
  readonly audience: string;
}

/** What ties an authorization request to its answer. None of it may be used twice. */
export interface AuthorizationProof {
  /** Where the vendor sends the person back to: to the letter what was registered. */
  readonly redirectUri: string;
  readonly state: string;
  /** PKCE (RFC 7636). */
  readonly codeVerifier: string;
}

/** Tokens as an authorization server gave them. */
export interface IssuedTokens {
  readonly accessToken: string;
  readonly refreshToken: string | undefined;
  /** From when they were asked for; undefined where the server does not say. */
  readonly lifetimeSeconds: number | undefined;
  /** What was granted, where the server says so. */
  readonly scope: string | undefined;
}

/** How an integration's connections are authorised by their owner. */
export interface OwnerAuthorization {
  /** What its authorization servers are reached through, when tokens are redeemed, renewed and revoked: guarded as its calls are. */
  readonly dispatcher: Dispatcher;
  /**
   * Where the owner logs in and who we are there: discovers the server and registers with it where needed. `scope` is what
   * a refused call asked for (step-up), undefined for the usual. Throws TokenFailure with a sentence for the owner.
   */
  terms(target: Target, scope: string | undefined, signal: AbortSignal): Promise<AuthorizationTerms>;
  /** Whether the third party can be authorised so, as far as it says: for one that refused a call without credentials. */
  isAvailable(target: Target, signal: AbortSignal): Promise<boolean>;
}

/** Why a connection's owner has to log in at its third party. */
export interface AuthorizationNeed {
  /** In a public sentence. */
  readonly reason: string;
  /** The scopes that a refused call asked for: then the authorisation there is stays in use. Undefined when there is none any more. */
  readonly wantedScope?: string | undefined;
}

/** Why a connection that nobody has authorised yet cannot be used. */
export const NOT_YET_AUTHORIZED = "Its owner has not authorised it yet.";

/** Why a connection whose destination or secrets changed has to be authorised again. */
export const CHANGED_SINCE_AUTHORIZED = "Its configuration changed: its owner has to authorise it again.";
