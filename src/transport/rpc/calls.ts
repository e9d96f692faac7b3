import type { HandlerContext, MethodImplSpec } from "@connectrpc/connect";
import type { DescMessage, Message, MessageInitShape } from "@bufbuild/protobuf";
import type { Heartbeats } from "../http/heartbeats.ts";
import { CallContext } from "./call-context.ts";
import { exchangeKey } from "./caller.ts";
import { createInspector, type Inspector } from "./inspect.ts";
import { addressFields } from "./rest/path-template.ts";
import { inSlot } from "../gate/serve-admitted.ts";
import type { ConcurrencyLimiter } from "../gate/concurrency-limiter.ts";
import { createRounder } from "./round-structs.ts";
import { principalKey } from "./principal.ts";
import { waitKey } from "./wait.ts";
import type { Rpc } from "./rpc.ts";

/** An RPC and its implementation. */
export interface ServedRpc extends Rpc {
  readonly spec: MethodImplSpec;
  readonly inspect: Inspector | undefined;
  readonly round: ((message: object) => void) | undefined;
  /** Limits the number of concurrent calls. Undefined for streams. */
  readonly limiter: ConcurrencyLimiter | undefined;
  /** Set for calls that may wait for an upstream for an hour. */
  readonly heartbeats: Heartbeats | undefined;
}

/** The result of an implementation: a message, or the argument of `create`. */
export type Output = MessageInitShape<DescMessage>;

/** The protocol name of REST in handler contexts, beside Connect's `connect`, `grpc` and `grpc-web`. */
export const REST = "rest";

/** Combines an RPC of the contract with its implementation. */
export function serveRpc(
  rpc: Rpc,
  spec: MethodImplSpec,
  limiter: ConcurrencyLimiter | undefined,
  heartbeats?: Heartbeats,
): ServedRpc {
  return {
    ...rpc,
    spec,
    limiter,
    heartbeats,
    inspect: createInspector(rpc.method.input, addressFields(rpc.method)),
    round: createRounder(rpc.method.output),
  };
}

/**
 * Calls a unary implementation, for every protocol: inspects the request, waits for a slot, calls. Returns the
 * implementation's result, which may be an incomplete message. Throws what it threw.
 */
export function callUnary(rpc: ServedRpc, message: Message, context: HandlerContext): Promise<Output> {
  if (rpc.spec.kind !== "unary") throw new TypeError(`${rpc.path} is not unary`);
  const isRest = context.protocolName === REST;
  rpc.inspect?.(message, !isRest);
  const { spec, limiter, round } = rpc;
  const checkWanted = (): void => context.signal.throwIfAborted();
  const output = inSlot(limiter, accountOf(context), checkWanted, (release) =>
    rpc.heartbeats === undefined
      ? spec.impl(message, context)
      : whileWaiting(rpc.heartbeats, context, release, () => spec.impl(message, context)),
  );
  return isRest || round === undefined ? output : output.then((whole) => (round(whole), whole));
}

/** Lets the implementation say when it begins to wait: the call then holds no slot, has no deadline of ours and stays connected. */
async function whileWaiting<Result>(
  heartbeats: Heartbeats,
  context: HandlerContext,
  release: () => void,
  work: () => Promise<Result> | Result,
): Promise<Result> {
  const exchange = context.values.get(exchangeKey);
  let stop: (() => void) | undefined;
  context.values.set(waitKey, () => {
    release();
    if (context instanceof CallContext) context.stopDeadline?.();
    stop ??= heartbeats.start(() => exchange?.keepOpen());
  });
  try {
    return await work();
  } finally {
    stop?.();
  }
}

/** The account whose slots a call uses. Calls without a principal share one account. */
function accountOf({ values }: Pick<HandlerContext, "values">): string {
  return values.get(principalKey)?.accountId ?? "";
}

/** Calls a server-streaming implementation. Streams wait for events, so they use no slot of a concurrency limiter. */
export async function* callStream(rpc: ServedRpc, message: Message, context: HandlerContext): AsyncGenerator<Output> {
  if (rpc.spec.kind !== "server_streaming") throw new TypeError(`${rpc.path} is not server-streaming`);
  const isRest = context.protocolName === REST;
  rpc.inspect?.(message, !isRest);
  for await (const output of rpc.spec.impl(message, context)) {
    if (!isRest) rpc.round?.(output);
    yield output;
  }
}
