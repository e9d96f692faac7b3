import type { HandlerContext } from "@connectrpc/connect";
import { CallContext } from "./call-context.ts";

/**
 * Returns a request header (over RPC metadata) by its lower-case name; on our own code paths without creating
 * `Headers`.
 */
export function requestHeader(context: HandlerContext, name: string): string | null {
  return context instanceof CallContext ? context.header(name) : context.requestHeader.get(name);
}
