import type { Interceptor } from "@connectrpc/connect";
import { authorizeCalls } from "./authorize-calls.ts";
import { retryCalls } from "./retry-calls.ts";
import { DEFAULT_RETRIES, type RetryPolicy } from "./retry-policy.ts";
import { toTokenSource, type TokenSource } from "./token-source.ts";

/** Which service RPC clients are for, and how they behave. */
export interface RpcOptions {
  /** Where the service is, such as `https://patchbay.example.com`. */
  readonly baseUrl: string;
  /** A token, or where tokens come from. */
  readonly token: string | TokenSource;
  readonly retries?: RetryPolicy;
  /** The deadline of calls that do not bring their own, in milliseconds; none unless told. */
  readonly defaultTimeoutMs?: number;
  /** Further interceptors, around our own. */
  readonly interceptors?: readonly Interceptor[];
}

/** What every transport is made with: a token for each attempt, and further attempts where they are safe. */
export function toTransportOptions({ baseUrl, token, retries, interceptors = [], defaultTimeoutMs }: RpcOptions) {
  return {
    baseUrl,
    interceptors: [...interceptors, retryCalls(retries ?? DEFAULT_RETRIES), authorizeCalls(toTokenSource(token))],
    ...(defaultTimeoutMs !== undefined && { defaultTimeoutMs }),
  };
}
