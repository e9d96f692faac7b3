import { hash } from "node:crypto";

/** The SHA-256 of an Authorization header, base64url. `connection` is the object that stands for what it came over. */
export type HeaderDigest = (header: string, connection: object | undefined) => string;

/**
 * Digests headers and remembers each connection's last one: a client says the same every time, and hashing it again is the
 * dearest step of a call. The text of a header is kept no longer than the connection that brought it.
 */
export function createHeaderDigest(): HeaderDigest {
  const lastOf = new WeakMap<object, { readonly header: string; readonly digest: string }>();
  return (header, connection) => {
    const last = connection && lastOf.get(connection);
    if (last?.header === header) return last.digest;
    const digest = hash("sha256", header, "base64url");
    if (connection !== undefined) lastOf.set(connection, { header, digest });
    return digest;
  };
}
