import { parseCookie, stringifySetCookie, type SetCookie } from "cookie";
import type { HttpExchange } from "./exchange.ts";

/** The cookies of one site. */
export interface Cookies {
  /** The value of a cookie of ours; undefined when it is missing or comes twice, since one of the two is not ours. */
  read(exchange: HttpExchange, name: string): string | undefined;
  /** Sets a cookie that scripts cannot read and foreign sites cannot send along; without `maxAgeSeconds` until the browser ends. */
  set(exchange: HttpExchange, name: string, value: string, maxAgeSeconds?: number): void;
  clear(exchange: HttpExchange, name: string): void;
}

/**
 * Cookies for `PUBLIC_URL`.
 *
 * Over https they are `__Host-` cookies: Secure, of this host alone, for all of it, so that no neighbouring host can set
 * them. Browsers drop those over plain http, where the service is meant for this machine alone; there the name has no
 * prefix and the cookie no Secure.
 */
export function createCookies(publicUrl: string): Cookies {
  const isSecure = publicUrl.startsWith("https:");
  const attributes = { path: "/", httpOnly: true, sameSite: "lax", secure: isSecure } as const;
  const fullName = (name: string): string => `${isSecure ? "__Host-" : ""}patchbay_${name}`;

  function append(exchange: HttpExchange, cookie: SetCookie): void {
    // A cookie that is set and then cleared in one response is set once.
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
