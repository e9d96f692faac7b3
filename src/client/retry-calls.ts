import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type Interceptor, type StreamRequest, type UnaryRequest } from "@connectrpc/connect";
import { pause, type RetryPolicy, waitAfter } from "./retry-policy.ts";

/**
 * Tries unary calls again where that is safe: what the contract declares free of side effects, and calls with an
 * `idempotency-key`, after `unavailable`; everything after `resource_exhausted` that names a time.
 */
export function retryCalls(policy: RetryPolicy): Interceptor {
  return (next) => async (call) => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await next(call);
      } catch (error) {
        if (!(error instanceof ConnectError) || !mayRepeat(call, error)) throw error;
        const waitMs = waitAfter(policy, attempt, error.metadata.get("retry-after"));
        if (waitMs === undefined) throw error;
        await pause(waitMs, call.signal);
      }
    }
  };
}

function mayRepeat(call: UnaryRequest | StreamRequest, error: ConnectError): boolean {
  if (call.stream) return false;
  if (error.code === Code.ResourceExhausted) return error.metadata.has("retry-after");
  if (error.code !== Code.Unavailable) return false;
  return (
    call.method.idempotency !== MethodOptions_IdempotencyLevel.IDEMPOTENCY_UNKNOWN || call.header.has("idempotency-key")
  );
}
