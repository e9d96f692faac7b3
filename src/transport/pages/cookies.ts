import { parseCookie, stringifySetCookie, type SetCookie } from "cookie";
import type { HttpRequest, HttpResponse } from "../http/node-exchange.ts";

/** The cookies of one site. */
export interface Cookies {
  /** The value of a cookie of ours; undefined when it is missing or comes twice, since one of the two is not ours. */
  read(request: HttpRequest, name: string): string | undefined;
  /** Sets a cookie that scripts cannot read and foreign sites cannot send along; without `maxAgeSeconds` until the browser ends. */
  set(response: HttpResponse, name: string, value: string, maxAgeSeconds?: number): void;
  clear(response: HttpResponse, name: string): void;
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

  function append(response: HttpResponse, cookie: SetCookie): void {
    const before = response.getHeader("set-cookie");
    const others = Array.isArray(before) ? before : [];
    // A cookie that is set and then cleared in one response is set once.
    const kept = others.filter((other) => !other.startsWith(`${cookie.name}=`));
    response.setHeader("set-cookie", [...kept, stringifySetCookie(cookie)]);
  }

  return {
    read(request, name) {
      const pairs = (request.headers.cookie ?? "").split(";");
      const found = pairs.flatMap((pair) => parseCookie(pair)[fullName(name)] ?? []);
      return found.length === 1 ? found[0] : undefined;
    },
    set(response, name, value, maxAgeSeconds) {
      const age = maxAgeSeconds === undefined ? {} : { maxAge: maxAgeSeconds };
      append(response, { name: fullName(name), value, ...attributes, ...age });
    },
    clear(response, name) {
      append(response, { name: fullName(name), value: "", ...attributes, maxAge: 0 });
    },
  };
}
