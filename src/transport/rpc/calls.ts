import type { HandlerContext, MethodImplSpec } from "@connectrpc/connect";
import type { DescMessage, Message, MessageInitShape } from "@bufbuild/protobuf";
import { createInspector, type Inspector } from "./inspect.ts";
import { addressFields } from "./rest/path-template.ts";
import type { Lane } from "../gate/concurrency-limiter.ts";
import { createRounder } from "./round-structs.ts";
import type { Rpc } from "./rpc.ts";

/** One RPC together with its implementation. */
export interface ServedRpc extends Rpc {
  readonly spec: MethodImplSpec;
  readonly inspect: Inspector | undefined;
  readonly round: ((message: object) => void) | undefined;
  /** The lane that bounds how many of these calls do work at once. Undefined for streams. */
  readonly lane: Lane | undefined;
}

/** What an implementation returns: a message, or what `create` makes one of. */
export type Output = MessageInitShape<DescMessage>;

/** The protocol name of REST in handler contexts, beside Connect's `connect`, `grpc` and `grpc-web`. */
export const REST = "rest";

/** Joins what the contract says of an RPC to what serves it. */
export function serveRpc(rpc: Rpc, spec: MethodImplSpec, lane: Lane | undefined): ServedRpc {
  return {
    ...rpc,
    spec,
    lane,
    inspect: createInspector(rpc.method.input, addressFields(rpc.method)),
    round: createRounder(rpc.method.output),
  };
}

/**
 * The one way into a unary implementation, for every face: inspect the request, take a place in the lane, call.
 * Returns what the implementation returned, not yet a complete message. Throws what it threw.
 */
export async function callUnary(rpc: ServedRpc, message: Message, context: HandlerContext): Promise<Output> {
  if (rpc.spec.kind !== "unary") throw new TypeError(`${rpc.path} is not unary`);
  const isRest = context.protocolName === REST;
  rpc.inspect?.(message, !isRest);
  const place = rpc.lane?.enter();
  if (place !== undefined) await place;
  try {
    // Nothing is done for who left the queue, or a flood of requests that are taken back would cost as much as any other.
    if (place !== undefined) context.signal.throwIfAborted();
    const output = await rpc.spec.impl(message, context);
    if (!isRest) rpc.round?.(output);
    return output;
  } finally {
    rpc.lane?.leave();
  }
}

/** The one way into a server-streaming implementation. Streams wait for events, so they take no place in a lane. */
export async function* callStream(rpc: ServedRpc, message: Message, context: HandlerContext): AsyncGenerator<Output> {
  if (rpc.spec.kind !== "server_streaming") throw new TypeError(`${rpc.path} is not server-streaming`);
  const isRest = context.protocolName === REST;
  rpc.inspect?.(message, !isRest);
  for await (const output of rpc.spec.impl(message, context)) {
    if (!isRest) rpc.round?.(output);
    yield output;
  }
}
