import type { AllClientMetadata } from "oidc-provider";
import type { TokenGrant } from "../../../identity/grants/grants.ts";
import type { LoginSession } from "../../../identity/login/login-session.ts";
import type { KnownClient } from "../clients/client-directory.ts";
import type { Scope } from "../../../identity/scopes.ts";

/** A token request that may be granted as it stands. */
export interface OAuthTokenRequest {
  readonly scopes: readonly Scope[];
  /** The `aud` of the token. */
  readonly audience: string;
}

/** A checked authorization request, on which a person is to decide. */
export interface AskedAuthorization {
  readonly client: {
    readonly clientId: string;
    readonly name: string | undefined;
    /** Whether it proves at the token endpoint who it is. */
    readonly isConfidential: boolean;
    /** Kept by an account here, registered by itself, or described by a document at its address. */
    readonly source: "own" | "registered" | "document";
  };
  readonly redirectUri: string;
  /** Words that are scopes of ours and that the client may have. */
  readonly scopes: readonly string[];
  readonly resource: string;
  /** Whether the client wants the person to be asked, whatever was decided before. */
  readonly mustAsk: boolean;
}

/** What a person decided, now or before; `ask` when that is still to come. */
export type Decision =
  | { readonly kind: "ask" }
  | { readonly kind: "deny" }
  | { readonly kind: "grant"; readonly grantId: string; readonly scopes: readonly string[] };

/** A browser that a client sent here. */
export interface AuthorizationContext {
  readonly kind: "authorize";
  readonly session: LoginSession | undefined;
  /** Whether the person must log in again first. */
  readonly mustLogIn: boolean;
  /** Whether the person must be asked, whatever was decided before. */
  readonly mustAsk: boolean;
  readonly decide: (asked: AskedAuthorization, session: LoginSession) => Promise<Decision>;
  /** What the provider asks for instead of answering the client. */
  prompt: "login" | "consent" | undefined;
  asked: AskedAuthorization | undefined;
  decision: Decision | undefined;
}

/** A client that has shown who it is, and what it wants. */
export interface TokenContext {
  readonly kind: "token";
  readonly client: { readonly metadata: AllClientMetadata; readonly own: KnownClient["own"] };
  /** Of client credentials; a code and a refresh token carry their own. */
  readonly request: OAuthTokenRequest | undefined;
  /** The grant of the code or refresh token, once it is found. */
  grant: TokenGrant | undefined;
}

/** A client that signs to show who it is. */
export interface AuthenticationContext {
  readonly kind: "authentication";
}

/** What is known of a request that goes through the provider, besides what stands in it. */
export type RequestContext = AuthorizationContext | TokenContext | AuthenticationContext;
