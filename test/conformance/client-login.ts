import { randomBytes } from "node:crypto";
import type { Dispatcher } from "undici";
import type { IssuedTokens, UpstreamClient } from "../../src/integrations/authorization.ts";
import type { OwnerAuthorization } from "../../src/integrations/authorization.ts";
import { mcpAuthorization } from "../../src/integrations/mcp/owner-authorization.ts";
import { authorizationRequest } from "../../src/integrations/oauth/authorization-request.ts";
import type { GrantedTokens } from "../../src/integrations/oauth/granted-tokens.ts";
import { redeemCode } from "../../src/integrations/oauth/redeem-code.ts";
import { refreshTokens } from "../../src/integrations/oauth/refresh-tokens.ts";
import type { Target } from "../../src/integrations/target.ts";

const PUBLIC_URL = "http://localhost:3000";

/** An owner who authorizes the connection, and again whenever its tokens can no longer be renewed. */
export interface OwnerLogin {
  readonly authorization: OwnerAuthorization;
  readonly tokens: GrantedTokens;
  /** Authorizes the connection for these scopes, or for those that its server asks for. */
  authorize(scope: string | undefined): Promise<void>;
  /** Returns the scopes that a call lacked since the last authorization. */
  lacking(): string | undefined;
}

/** Keeps clients and tokens in memory. The address guard is omitted, because the suite's servers use loopback. */
export function createOwnerLogin(target: Target, dispatcher: Dispatcher, signal: AbortSignal): OwnerLogin {
  const registrations = new Map<string, UpstreamClient>();
  const authorization = mcpAuthorization({
    dispatcher,
    checkDestination: () => undefined,
    publicUrl: PUBLIC_URL,
    clients: {
      find: async ({ issuer }) => registrations.get(issuer),
      keep: async ({ issuer }, client) => {
        registrations.set(issuer, client);
        return client;
      },
      forget: async ({ issuer }) => void registrations.delete(issuer),
    },
  });
  let issued: IssuedTokens | undefined;
  let missing: string | undefined;
  let refresh = (): Promise<IssuedTokens> => Promise.reject(new Error("The connection is not authorized."));

  /** Acts as the owner's browser. The suite's login page redirects back immediately. */
  async function authorize(scope: string | undefined): Promise<void> {
    missing = undefined;
    const terms = await authorization.terms(target, scope, signal);
    const random = (): string => randomBytes(32).toString("base64url");
    const proof = { redirectUri: PUBLIC_URL + terms.callbackPath, state: random(), codeVerifier: random() };
    const { headers } = await fetch(authorizationRequest(terms, proof), { redirect: "manual" });
    const back = new URL(headers.get("location") ?? "");
    issued = await redeemCode(terms, back.searchParams, proof, dispatcher, signal);
    refresh = () => refreshTokens(terms, issued?.refreshToken ?? "", dispatcher, signal);
  }

  return {
    authorization,
    authorize,
    lacking: () => missing,
    tokens: {
      current: () => issued?.accessToken ?? "",
      renewed: async () => {
        try {
          issued = await refresh();
        } catch {
          await authorize(undefined);
        }
        return issued?.accessToken ?? "";
      },
      extend: async (_target, scope) => {
        missing = scope;
      },
      forget: () => undefined,
    },
  };
}
