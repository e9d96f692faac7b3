import { DomainError } from "../../domain-error.ts";
import type { HttpExchange } from "../http/exchange.ts";
import { isConfidential } from "../http/peer.ts";
import { readForm } from "../http/read-body.ts";

/** Reads a form of ours. Fails with `invalid` for one that came in clear from another machine: passwords and cookies are not taken that way. */
export async function readBrowserForm(exchange: HttpExchange, trustProxy: boolean): Promise<URLSearchParams> {
  if (!isConfidential(exchange, trustProxy)) {
    throw new DomainError("invalid", "Logging in needs https: this page was reached in clear.");
  }
  return readForm(exchange);
}
