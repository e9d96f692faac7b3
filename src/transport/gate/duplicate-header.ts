import type { HttpExchange } from "../http/exchange.ts";

/**
 * Whether `Host` or `Authorization` occurs twice, or `Host` contradicts `:authority`. Node silently uses one of them,
 * and a proxy before us may have used the other.
 */
export function hasDoubledHeader(exchange: HttpExchange): boolean {
  const { rawHeaders } = exchange;
  let hosts = 0;
  let authorizations = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? "";
    if (name.length === 4) {
      if (name.toLowerCase() === "host") hosts += 1;
    } else if (name.length === 13 && name.toLowerCase() === "authorization") {
      authorizations += 1;
    }
  }
  if (hosts > 1 || authorizations > 1) return true;
  const authority = exchange.headers[":authority"];
  return hosts === 1 && authority !== undefined && exchange.headers.host !== authority;
}
