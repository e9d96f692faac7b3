import { DomainError } from "../../../domain-error.ts";
import { errorResult } from "../../tool.ts";
import type { UpstreamCallOutcome } from "./call-context.ts";
import { MissingCredential } from "./credential.ts";
import { UnsendableArgument } from "./request.ts";

/** Describes why a call cannot be sent; undefined for internal errors. */
export function unsendableResult(error: unknown): UpstreamCallOutcome | undefined {
  const message = sentenceFor(error);
  return message === undefined ? undefined : { status: undefined, result: errorResult(message) };
}

function sentenceFor(error: unknown): string | undefined {
  if (error instanceof UnsendableArgument) return error.message;
  if (error instanceof MissingCredential)
    return "This connection has no usable key yet. Its owner can set one with api_key.";
  if (error instanceof DomainError && error.kind === "invalid")
    return `This connection's configuration cannot be used: ${error.message}`;
  return undefined;
}
