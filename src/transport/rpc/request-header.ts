import type { HandlerContext } from "@connectrpc/connect";
import { CallContext } from "./call-context.ts";

/** A request header, or over RPC its metadata, by its name in lower case: on our own paths without a `Headers` object. */
export function requestHeader(context: HandlerContext, name: string): string | null {
  return context instanceof CallContext ? context.header(name) : context.requestHeader.get(name);
}
