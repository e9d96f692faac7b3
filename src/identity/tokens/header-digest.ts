import { hash } from "node:crypto";

/** Returns the SHA-256 of an Authorization header as base64url. `connection` identifies the network connection. */
export type HeaderDigest = (header: string, connection: object | undefined) => string;

/**
 * Caches the last digest of each network connection, since a client repeats its header and hashing it is the most
 * expensive step of a call. The header text is kept only as long as its connection.
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
