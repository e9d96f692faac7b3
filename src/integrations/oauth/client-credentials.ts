import {
  allowInsecureRequests,
  clientCredentialsGrantRequest,
  ClientSecretPost,
  customFetch,
  processClientCredentialsResponse,
} from "oauth4webapi";
import type { Dispatcher } from "undici";
import type { ExchangeLimits } from "../upstream-exchange.ts";
import type { AccessToken, AccessTokenSource } from "./access-tokens.ts";
import { createFetch } from "./outbound-fetch.ts";
import { secretBasic } from "./secret-basic.ts";
import { type TokenRequester, tokenRefusal, unusableAnswer } from "./token-refusal.ts";

const LIMITS: ExchangeLimits = { maxBytes: 256 * 1024, timeoutMs: 10_000 };
/** What a header can carry of a token (RFC 6750 asks for less; servers exist that use more). */
const TOKEN = /^[\x21-\x7e]{1,16384}$/;

/** An OAuth client of ours at a third party. */
export interface ClientCredentialsClient {
  /** The third party, as its name appears in sentences. */
  readonly title: string;
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Space-separated; undefined for what the server gives by itself. */
  readonly scope: string | undefined;
  /** How the client authenticates (RFC 6749 §2.3.1): by HTTP Basic, or in the form. */
  readonly authentication: "basic" | "post";
  /** What a refusal means, where it is not its owner who can mend it. */
  readonly meaning?: NonNullable<TokenRequester["meaning"]>;
}

/** Tokens by the client credentials grant (RFC 6749 §4.4). */
export function clientCredentialsSource(client: ClientCredentialsClient, dispatcher: Dispatcher): AccessTokenSource {
  const { tokenUrl, clientId, clientSecret, scope } = client;
  return {
    key: [tokenUrl, clientId, scope ?? ""].join(" "),
    async obtain(signal): Promise<AccessToken> {
      const server = { issuer: tokenUrl, token_endpoint: tokenUrl };
      const us = { client_id: clientId };
      const authenticate = client.authentication === "basic" ? secretBasic : ClientSecretPost;
      try {
        const response = await clientCredentialsGrantRequest(
          server,
          us,
          authenticate(clientSecret),
          scope === undefined ? {} : { scope },
          // What may be called in clear is the guard's to say.
          { [customFetch]: createFetch(dispatcher, LIMITS), [allowInsecureRequests]: true, signal },
        );
        if (response.status !== 200) throw await tokenRefusal(client, response);
        const { access_token: value, expires_in: seconds } = await processClientCredentialsResponse(
          server,
          us,
          response,
        );
        if (!TOKEN.test(value)) throw new Error("the token cannot be sent");
        return { value, lifetimeSeconds: seconds };
      } catch (error) {
        signal.throwIfAborted();
        throw unusableAnswer(client, error);
      }
    },
  };
}
