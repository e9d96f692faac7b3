import type { ClientAuth } from "oauth4webapi";

/**
 * HTTP Basic of a client (RFC 6749 §2.3.1): both parts written as forms write them. What a form leaves as it is, such as a
 * hyphen, stays as it is: servers exist that forget to read it back, and the library's own way encodes that too.
 */
export function secretBasic(clientSecret: string): ClientAuth {
  return (_server, { client_id: clientId }, _body, headers) => {
    const pair = `${form(clientId)}:${form(clientSecret)}`;
    headers.set("authorization", `Basic ${Buffer.from(pair, "utf8").toString("base64")}`);
  };
}

/** As forms write it (RFC 6749 appendix B). */
export function form(text: string): string {
  return new URLSearchParams({ "": text }).toString().slice(1);
}
