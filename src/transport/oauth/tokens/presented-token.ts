import { decodeJwt } from "jose";
import { DomainError } from "../../../domain-error.ts";
import type { OAuthGrantStore, TokenGrant } from "../../../identity/grants/grants.ts";
import type { Principal } from "../../../identity/principal.ts";
import type { TokenVerifier } from "../../../identity/tokens/verifier.ts";
import { payloadId } from "../provider/payload-id.ts";
import type { PayloadStore } from "../../../identity/oauth/payload-store.ts";

/** A valid token submitted for introspection or revocation, with its details. */
export type PresentedToken =
  | { readonly kind: "access"; readonly principal: Principal }
  | {
      readonly kind: "refresh";
      readonly grant: TokenGrant;
      readonly scope: string;
      /** Unix seconds. */
      readonly issuedAt: number;
      readonly expiresAt: number;
    };

/** Recognizes a token. Returns undefined for one that is foreign, expired, revoked or already used. */
export type RecognizeToken = (token: string) => Promise<PresentedToken | undefined>;

const JWT = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;
const MAX_LENGTH = 8_192;

function audienceOf(token: string): string | undefined {
  try {
    const { aud } = decodeJwt(token);
    return typeof aud === "string" ? aud : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Recognizes access tokens and personal access tokens with the verifier, and refresh tokens by their stored payload.
 */
export function createRecognizeToken(deps: {
  readonly verifier: TokenVerifier;
  readonly payloads: PayloadStore;
  readonly grants: Pick<OAuthGrantStore, "findForToken">;
  readonly pepper: Uint8Array;
}): RecognizeToken {
  async function recognizeAccess(token: string): Promise<PresentedToken | undefined> {
    const audience = audienceOf(token);
    if (audience === undefined) return undefined;
    try {
      // Any audience is accepted, because the token is only inspected.
      return { kind: "access", principal: await deps.verifier.verify(`Bearer ${token}`, [audience]) };
    } catch (error) {
      if (error instanceof DomainError && error.kind === "unauthenticated") return undefined;
      throw error;
    }
  }

  return async (token) => {
    if (token.length > MAX_LENGTH) return undefined;
    if (JWT.test(token)) return recognizeAccess(token);
    const stored = await deps.payloads.find("RefreshToken", payloadId(deps.pepper, "RefreshToken", token));
    if (stored?.grantId === undefined || stored.isConsumed) return undefined;
    const grant = await deps.grants.findForToken(stored.grantId);
    const { scope, iat, exp } = stored.payload;
    if (grant === undefined || typeof scope !== "string" || typeof iat !== "number" || typeof exp !== "number") {
      return undefined;
    }
    return { kind: "refresh", grant, scope, issuedAt: iat, expiresAt: exp };
  };
}
