import type { ClientAuth } from "oauth4webapi";

/**
 * HTTP Basic client authentication (RFC 6749 §2.3.1). Leaves characters such as hyphens unencoded, unlike the
 * library, because some servers do not decode them.
 */
export function secretBasic(clientSecret: string): ClientAuth {
  return (_server, { client_id: clientId }, _body, headers) => {
    const pair = `${form(clientId)}:${form(clientSecret)}`;
    headers.set("authorization", `Basic ${Buffer.from(pair, "utf8").toString("base64")}`);
  };
}

/** Form encoding (RFC 6749 appendix B). */
export function form(text: string): string {
  return new URLSearchParams({ "": text }).toString().slice(1);
}
