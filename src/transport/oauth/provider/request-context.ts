import type { AllClientMetadata } from "oidc-provider";
import type { TokenGrant } from "../../../identity/grants/grants.ts";
import type { LoginSession } from "../../../identity/login/login-session.ts";
import type { KnownClient } from "../clients/client-directory.ts";
import type { Scope } from "../../../identity/scopes.ts";

/** A checked client credentials request. */
export interface OAuthTokenRequest {
  readonly scopes: readonly Scope[];
  /** The `aud` of the token. */
  readonly audience: string;
}

/** A checked authorization request that needs a person's decision. */
export interface AskedAuthorization {
  readonly client: {
    readonly clientId: string;
    readonly name: string | undefined;
    /** Whether the client authenticates at the token endpoint. */
    readonly isConfidential: boolean;
    /**
     * Whether the client was created by an account, registered itself, or is described by a document at its address.
     */
    readonly source: "own" | "registered" | "document";
  };
  readonly redirectUri: string;
  /** Valid scopes that the client may have. */
  readonly scopes: readonly string[];
  readonly resource: string;
  /** Whether the client requires a new decision. */
  readonly mustAsk: boolean;
}

/** A decision, new or remembered; `ask` if there is none yet. */
export type Decision =
  | { readonly kind: "ask" }
  | { readonly kind: "deny" }
  | { readonly kind: "grant"; readonly grantId: string; readonly scopes: readonly string[] };

/** An authorization request of a browser. */
export interface AuthorizationContext {
  readonly kind: "authorize";
  readonly session: LoginSession | undefined;
  /** Whether the person must log in again first. */
  readonly mustLogIn: boolean;
  /** Whether the person must be asked despite an earlier decision. */
  readonly mustAsk: boolean;
  readonly decide: (asked: AskedAuthorization, session: LoginSession) => Promise<Decision>;
  /** Set if the provider needs a login or a decision before it can respond. */
  prompt: "login" | "consent" | undefined;
  asked: AskedAuthorization | undefined;
  decision: Decision | undefined;
}

/** A token request of an authenticated client. */
export interface TokenContext {
  readonly kind: "token";
  readonly client: { readonly metadata: AllClientMetadata; readonly own: KnownClient["own"] };
  /** Set for client credentials; codes and refresh tokens have stored values. */
  readonly request: OAuthTokenRequest | undefined;
  /** The grant of the code or refresh token, set when it is found. */
  grant: TokenGrant | undefined;
}

/** A client that authenticates with an assertion. */
export interface AuthenticationContext {
  readonly kind: "authentication";
}

/** The context of a request that the provider handles. */
export type RequestContext = AuthorizationContext | TokenContext | AuthenticationContext;
