import type { HttpExchange } from "../http/exchange.ts";

/** Returns a trimmed header value; repeated headers are joined with commas. Undefined if it is missing. */
export function singleHeader({ headers }: HttpExchange, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value.join(", ") : value?.trim();
}
