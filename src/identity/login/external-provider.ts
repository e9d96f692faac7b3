import type { Configuration, CustomFetch } from "openid-client";
import { DomainError } from "../../domain-error.ts";
import type { ExternalIdentity } from "./external-identity.ts";

export interface ExternalPerson extends ExternalIdentity {
  /** Undefined unless the provider has verified the address. */
  readonly verifiedEmail: string | undefined;
}

/** Values that bind the provider's response to this browser and login. */
export interface ExternalChecks {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

/** The operator's OpenID provider. Methods throw `unavailable` if it cannot be reached. */
export interface ExternalProvider {
  /** A normalized URL. */
  readonly issuer: string;
  /** The display name: the provider's host. */
  readonly name: string;
  /** The URL that the browser opens to log in. */
  authorizationUrl(checks: ExternalChecks): Promise<string>;
  /** Redeems the code in the callback URL. Throws `forbidden` if the login is not proven. */
  redeem(currentUrl: URL, checks: ExternalChecks): Promise<ExternalPerson>;
}

export interface ExternalProviderOptions {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** The callback URL. */
  readonly redirectUri: string;
  /** Used for every request to the provider. */
  readonly fetch: CustomFetch;
}

/** Cache time of the provider's metadata. */
const METADATA_MS = 3_600_000;
const TIMEOUT_SECONDS = 10;

/** Loads openid-client on the first use. */
export function createExternalProvider(options: ExternalProviderOptions): ExternalProvider {
  const { issuer, clientId, clientSecret, redirectUri } = options;
  const name = new URL(issuer).host;
  let known: { readonly configuration: Promise<Configuration>; readonly until: number } | undefined;

  async function discover(): Promise<Configuration> {
    const client = await import("openid-client");
    // The configuration allows http only for a provider on this host.
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
