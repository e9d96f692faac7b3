import type { HttpExchange } from "../http/exchange.ts";

/** A header's value without the white space around it; several are joined as HTTP joins them. Undefined when it is not there. */
export function singleHeader({ headers }: HttpExchange, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value.join(", ") : value?.trim();
}
