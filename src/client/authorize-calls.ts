import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import type { TokenSource } from "./token-source.ts";

/**
 * Adds the bearer token to calls without their own `Authorization`. After `unauthenticated` it retries once with a new
 * token. A rejected stream fails, because its input may be partly consumed.
 */
export function authorizeCalls(source: TokenSource): Interceptor {
  return (next) => async (call) => {
    if (call.header.has("authorization")) return next(call);
    const token = await source.token();
    call.header.set("authorization", `Bearer ${token}`);
    try {
      return await next(call);
    } catch (error) {
      const isRefused = error instanceof ConnectError && error.code === Code.Unauthenticated;
      if (!isRefused || call.stream || source.renew === undefined) throw error;
      call.header.set("authorization", `Bearer ${await source.renew(token)}`);
      return await next(call);
    } finally {
      // The next attempt of the same call adds its own token.
      call.header.delete("authorization");
    }
  };
}
