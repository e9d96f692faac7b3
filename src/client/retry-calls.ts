import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type Interceptor, type StreamRequest, type UnaryRequest } from "@connectrpc/connect";
import { ConnectionService } from "../../gen/proto/patchbay/v1/connection_service_pb.ts";
import { IDEMPOTENCY_KEY, newIdempotencyKey } from "./idempotency-key.ts";
import { pause, type RetryPolicy, waitAfter } from "./retry-policy.ts";

/** What is done once under a key, however often it comes. Elsewhere a key means nothing. */
const DONE_ONCE = [ConnectionService.method.createConnection];

/**
 * Tries unary calls again where that is safe: what the contract declares free of side effects, and creates of connections,
 * after `unavailable`; everything after `resource_exhausted` that names a time. A create is sent under an
 * `idempotency-key` of its own unless the caller gave it one.
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
