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

/** Every operation of the HTTP contract, typed by it. */
export type RestClient = Client<paths>;

/** Which service a client is for, and how it behaves. */
export interface RestClientOptions {
  /** Where the service is, such as `https://patchbay.example.com`. */
  readonly baseUrl: string;
  /** A token, or where tokens come from. */
  readonly token: string | TokenSource;
  readonly retries?: RetryPolicy;
  /** How to reach the service; `fetch` unless told. */
  readonly send?: Send;
}

/**
 * The client of the HTTP contract: `await client.GET("/api/v1/mcp-servers")` gives `data` or the service's `error`.
 * It fails only where there is no answer at all.
 */
export function createRestClient(options: RestClientOptions): RestClient {
  const { baseUrl, token, retries = DEFAULT_RETRIES, send = (each: Request) => fetch(each) } = options;
  const retrying = createRetryingSend(send, retries);
  return createFetchClient<paths>({ baseUrl, fetch: createAuthorizedSend(retrying, toTokenSource(token)) });
}
