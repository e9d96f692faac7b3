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
/** Characters that a header can carry. RFC 6750 allows fewer, but some servers use more. */
const TOKEN = /^[\x21-\x7e]{1,16384}$/;

export interface ClientCredentialsClient {
  /** The vendor's name, used in messages. */
  readonly title: string;
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Space-separated scopes; undefined requests the server's default. */
  readonly scope: string | undefined;
  /** HTTP Basic or form parameters (RFC 6749 §2.3.1). */
  readonly authentication: "basic" | "post";
  /** Describes an error code for the owner, where the owner cannot correct the client. */
  readonly meaning?: NonNullable<TokenRequester["meaning"]>;
}

/** The client credentials grant (RFC 6749 §4.4). */
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
          // The outbound guard decides which hosts allow plain http.
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
