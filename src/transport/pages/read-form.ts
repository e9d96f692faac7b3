import { DomainError, invalid } from "../../domain-error.ts";
import { type HttpRequest, readForm, singleHeader } from "../http/node-exchange.ts";
import { isConfidential } from "../http/peer.ts";

const FORM = /^application\/x-www-form-urlencoded\s*(;|$)/i;

/**
 * Reads a form of ours, of at most 16 KiB. Fails with `invalid` for a body of another type, and for one that came in clear
 * from another machine: passwords and cookies are not taken that way.
 */
export async function readBrowserForm(request: HttpRequest, trustProxy: boolean): Promise<URLSearchParams> {
  if (!isConfidential(request, trustProxy)) {
    throw new DomainError("invalid", "Logging in needs https: this page was reached in clear.");
  }
  if (!FORM.test(singleHeader(request, "content-type") ?? "")) throw invalid("content-type", "The body is a form.");
  return new URLSearchParams(await readForm(request));
}
