import type { HandlerContext } from "@connectrpc/connect";
import { CallContext } from "./call-context.ts";
import { REST } from "./calls.ts";
import { versionsNamed } from "../http/entity-tag.ts";

/** Says which version of a resource a read answers with. REST alone tells it, as `ETag`; RPC has no such thing. */
export function setVersion(context: HandlerContext, version: Date): void {
  if (context instanceof CallContext) context.version = version;
}

/**
 * The versions that a change is meant for, in milliseconds since 1970: those of a REST request's `If-Match`. Undefined: any.
 */
export function expectedVersions(context: HandlerContext): readonly number[] | undefined {
  if (!(context instanceof CallContext) || context.protocolName !== REST) return undefined;
  const header = context.header("if-match");
  return header === null ? undefined : versionsNamed(header);
}
