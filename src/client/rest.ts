import createFetchClient, { type Client } from "openapi-fetch";
import type { paths } from "../../gen/openapi/patchbay.ts";
import { createAuthorizedSend } from "./authorized-send.ts";
import { DEFAULT_RETRIES, type RetryPolicy } from "./retry-policy.ts";
import { createRetryingSend } from "./retrying-send.ts";
import type { Send } from "./send.ts";
import { toTokenSource, type TokenSource } from "./token-source.ts";

export type { components, operations, paths } from "../../gen/openapi/patchbay.ts";
export { createClientCredentials, type ClientCredentialsOptions } from "./client-credentials.ts";
export { DEFAULT_RETRIES, type RetryPolicy } from "./retry-policy.ts";
export type { Send } from "./send.ts";
export { TokenError } from "./token-error.ts";
export type { TokenSource } from "./token-source.ts";

/** A client with every operation of the HTTP contract, with its types. */
export type RestClient = Client<paths>;

/** The service's address, and the behavior of the client. */
export interface RestClientOptions {
  /** The address of the service, such as `https://patchbay.example.com`. */
  readonly baseUrl: string;
  /** A token, or a source of tokens. */
  readonly token: string | TokenSource;
  readonly retries?: RetryPolicy;
  /** Sends a request. Default: `fetch`. */
  readonly send?: Send;
}

/**
 * Creates a client of the HTTP contract. `await client.GET("/api/v1/mcp-servers")` returns `data` or the service's
 * `error`. It throws only if there is no response.
 */
export function createRestClient(options: RestClientOptions): RestClient {
  const { baseUrl, token, retries = DEFAULT_RETRIES, send = (each: Request) => fetch(each) } = options;
  const retrying = createRetryingSend(send, retries);
  return createFetchClient<paths>({ baseUrl, fetch: createAuthorizedSend(retrying, toTokenSource(token)) });
}
