import { parseCookie, stringifySetCookie, type SetCookie } from "cookie";
import type { HttpExchange } from "./exchange.ts";

/** Reads and sets cookies. */
export interface Cookies {
  /**
   * Returns the value of a cookie, or undefined if it is missing or occurs twice, because then one of the two is not
   * ours.
   */
  read(exchange: HttpExchange, name: string): string | undefined;
  /**
   * Sets a cookie that scripts cannot read and other sites cannot send. Without `maxAgeSeconds` it is a session cookie.
   */
  set(exchange: HttpExchange, name: string, value: string, maxAgeSeconds?: number): void;
  clear(exchange: HttpExchange, name: string): void;
}

/**
 * Cookies for `PUBLIC_URL`. Over https they have the `__Host-` prefix and are Secure, so that no other host of the
 * domain can set them. Browsers drop such cookies over plain HTTP, which is meant for local use only; there they have
 * neither the prefix nor Secure.
 */
export function createCookies(publicUrl: string): Cookies {
  const isSecure = publicUrl.startsWith("https:");
  const attributes = { path: "/", httpOnly: true, sameSite: "lax", secure: isSecure } as const;
  const fullName = (name: string): string => `${isSecure ? "__Host-" : ""}patchbay_${name}`;

  function append(exchange: HttpExchange, cookie: SetCookie): void {
    // Removes an earlier `Set-Cookie` of the same name from the response.
    const kept = (exchange.setCookies ?? []).filter((other) => !other.startsWith(`${cookie.name}=`));
    exchange.setCookies = [...kept, stringifySetCookie(cookie)];
  }

  return {
    read(exchange, name) {
      const pairs = (exchange.headers.cookie ?? "").split(";");
      const found = pairs.flatMap((pair) => parseCookie(pair)[fullName(name)] ?? []);
      return found.length === 1 ? found[0] : undefined;
    },
    set(exchange, name, value, maxAgeSeconds) {
      const age = maxAgeSeconds === undefined ? {} : { maxAge: maxAgeSeconds };
      append(exchange, { name: fullName(name), value, ...attributes, ...age });
    },
    clear(exchange, name) {
      append(exchange, { name: fullName(name), value: "", ...attributes, maxAge: 0 });
    },
  };
}
