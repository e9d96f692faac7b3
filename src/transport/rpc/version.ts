import type { HandlerContext } from "@connectrpc/connect";
import { CallContext } from "./call-context.ts";
import { REST } from "./calls.ts";
import { versionsNamed } from "../http/entity-tag.ts";

/** Sets the version of the returned resource. Only REST uses it, as `ETag`. */
export function setVersion(context: HandlerContext, version: Date): void {
  if (context instanceof CallContext) context.version = version;
}

/**
 * The versions that a change applies to, in milliseconds since 1970, from `If-Match` of a REST request. Undefined means
 * any version.
 */
export function expectedVersions(context: HandlerContext): readonly number[] | undefined {
  if (!(context instanceof CallContext) || context.protocolName !== REST) return undefined;
  const header = context.header("if-match");
  return header === null ? undefined : versionsNamed(header);
}
