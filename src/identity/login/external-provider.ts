import type { Configuration, CustomFetch } from "openid-client";
import { DomainError } from "../../domain-error.ts";
import type { ExternalIdentity } from "./external-identity.ts";

/** Who the provider says has logged in. */
export interface ExternalPerson extends ExternalIdentity {
  /** The e-mail address, if the provider has verified it. */
  readonly verifiedEmail: string | undefined;
}

/** What ties the provider's answer to the browser and the moment that asked. */
export interface ExternalChecks {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

/** The operator's OpenID provider. Each call fails with `unavailable` when it cannot be reached. */
export interface ExternalProvider {
  /** As an address in its normal form. */
  readonly issuer: string;
  /** What people are shown: the provider's host. */
  readonly name: string;
  /** Where the browser goes to log in. */
  authorizationUrl(checks: ExternalChecks): Promise<string>;
  /** Redeems the answer in the address that the browser came back to. Fails with `forbidden` when it proves nothing. */
  redeem(currentUrl: URL, checks: ExternalChecks): Promise<ExternalPerson>;
}

/** How the provider is reached. */
export interface ExternalProviderOptions {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** The address that the provider sends the browser back to. */
  readonly redirectUri: string;
  /** Every request to the provider goes through it. */
  readonly fetch: CustomFetch;
}

/** The provider's metadata is read again after this time. */
const METADATA_MS = 3_600_000;
const TIMEOUT_SECONDS = 10;

/** The provider through openid-client, which is loaded when somebody first needs it. */
export function createExternalProvider(options: ExternalProviderOptions): ExternalProvider {
  const { issuer, clientId, clientSecret, redirectUri } = options;
  const name = new URL(issuer).host;
  let known: { readonly configuration: Promise<Configuration>; readonly until: number } | undefined;

  async function discover(): Promise<Configuration> {
    const client = await import("openid-client");
    // The configuration sees to it that only this machine is asked in clear; marked as deprecated so that it stands out.
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- the one place, for the reason above.
    const inClear = issuer.startsWith("http:") ? [client.allowInsecureRequests] : [];
    return client.discovery(new URL(issuer), clientId, undefined, client.ClientSecretBasic(clientSecret), {
      [client.customFetch]: options.fetch,
      execute: inClear,
      timeout: TIMEOUT_SECONDS,
    });
  }

  async function configuration(): Promise<Configuration> {
    if (known === undefined || known.until < Date.now()) {
      known = { configuration: discover(), until: Date.now() + METADATA_MS };
    }
    try {
      return await known.configuration;
    } catch (cause) {
      known = undefined;
      throw new DomainError("unavailable", `${name} cannot be reached. Try again in a moment.`, {
        cause,
        retryAfterSeconds: 5,
      });
    }
  }

  return {
    issuer: new URL(issuer).href,
    name,
    async authorizationUrl({ state, nonce, codeVerifier }) {
      const [client, config] = [await import("openid-client"), await configuration()];
      const parameters = {
        redirect_uri: redirectUri,
        scope: "openid email",
        state,
        nonce,
        code_challenge: await client.calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: "S256",
      };
      return client.buildAuthorizationUrl(config, parameters).href;
    },
    async redeem(currentUrl, { state, nonce, codeVerifier }) {
      const [client, config] = [await import("openid-client"), await configuration()];
      try {
        const tokens = await client.authorizationCodeGrant(config, currentUrl, {
          pkceCodeVerifier: codeVerifier,
          expectedState: state,
          expectedNonce: nonce,
          idTokenExpected: true,
        });
        const claims = tokens.claims();
        if (claims === undefined) throw new Error("the provider sent no ID token");
        const hasMore = claims["email"] === undefined && config.serverMetadata().userinfo_endpoint !== undefined;
        const person = hasMore ? await client.fetchUserInfo(config, tokens.access_token, claims.sub) : claims;
        const { email, email_verified: isVerified } = person;
        const verifiedEmail = typeof email === "string" && isVerified === true ? email : undefined;
        return { issuer: new URL(claims.iss).href, subject: claims.sub, verifiedEmail };
      } catch (cause) {
        throw new DomainError("forbidden", `${name} did not log you in. Try again.`, { cause });
      }
    },
  };
}
