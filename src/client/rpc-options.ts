import type { Interceptor } from "@connectrpc/connect";
import { authorizeCalls } from "./authorize-calls.ts";
import { retryCalls } from "./retry-calls.ts";
import { DEFAULT_RETRIES, type RetryPolicy } from "./retry-policy.ts";
import { toTokenSource, type TokenSource } from "./token-source.ts";

/** The service's address, and the behavior of the clients. */
export interface RpcOptions {
  /** The address of the service, such as `https://patchbay.example.com`. */
  readonly baseUrl: string;
  /** A token, or a source of tokens. */
  readonly token: string | TokenSource;
  readonly retries?: RetryPolicy;
  /** The default deadline of calls, in milliseconds. Default: none. */
  readonly defaultTimeoutMs?: number;
  /** Additional interceptors, outside the client's own. */
  readonly interceptors?: readonly Interceptor[];
}

/** Returns the options of a transport that adds a token to each attempt and retries where that is safe. */
export function toTransportOptions({ baseUrl, token, retries, interceptors = [], defaultTimeoutMs }: RpcOptions) {
  return {
    baseUrl,
    interceptors: [...interceptors, retryCalls(retries ?? DEFAULT_RETRIES), authorizeCalls(toTokenSource(token))],
    ...(defaultTimeoutMs !== undefined && { defaultTimeoutMs }),
  };
}
