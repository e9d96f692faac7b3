import { DomainError } from "../../domain-error.ts";
import type { HttpExchange } from "../http/exchange.ts";
import { isConfidential } from "../http/peer.ts";
import { readForm } from "../http/read-body.ts";

/**
 * Reads a form. Fails with `invalid` for an unencrypted request of another machine, because forms contain passwords.
 */
export async function readBrowserForm(exchange: HttpExchange, trustProxy: boolean): Promise<URLSearchParams> {
  if (!isConfidential(exchange, trustProxy)) {
    throw new DomainError("invalid", "Logging in requires https, and this page was opened without it.");
  }
  return readForm(exchange);
}
