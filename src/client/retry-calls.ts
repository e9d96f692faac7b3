import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type Interceptor, type StreamRequest, type UnaryRequest } from "@connectrpc/connect";
import { ConnectionService } from "../../gen/proto/patchbay/v1/connection_service_pb.ts";
import { IDEMPOTENCY_KEY, newIdempotencyKey } from "./idempotency-key.ts";
import { pause, type RetryPolicy, waitAfter } from "./retry-policy.ts";

/** Methods that run only once per idempotency key. Other methods ignore the key. */
const DONE_ONCE = [ConnectionService.method.createConnection];

/**
 * Retries unary calls if that is safe: calls without side effects and creations of connections after `unavailable`, and
 * every call after `resource_exhausted` that names a time. A creation gets an `idempotency-key` unless the caller
 * supplied one.
 */
export function retryCalls(policy: RetryPolicy): Interceptor {
  return (next) => async (call) => {
    if (isDoneOnce(call) && !call.header.has(IDEMPOTENCY_KEY)) call.header.set(IDEMPOTENCY_KEY, newIdempotencyKey());
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
  return call.method.idempotency !== MethodOptions_IdempotencyLevel.IDEMPOTENCY_UNKNOWN || isDoneOnce(call);
}

function isDoneOnce({ method }: UnaryRequest | StreamRequest): boolean {
  return DONE_ONCE.some(({ parent, name }) => method.parent.typeName === parent.typeName && method.name === name);
}
