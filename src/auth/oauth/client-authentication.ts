import { timingSafeEqual } from "node:crypto";
import type { ClientStore, TokenClient } from "../clients.ts";
import { hashSecret } from "../hash-secret.ts";
import { invalidClient } from "./oauth-error.ts";

/** What a caller claims with HTTP Basic. */
export interface ClientCredentials {
  readonly clientId: string;
  readonly clientSecret: string;
}

const BASIC = /^Basic ([A-Za-z0-9+/]{1,2048}={0,2})$/i;

/** RFC 6749 §2.3.1: both parts are form-encoded before they are joined. Ours need no encoding, so a raw text is its own. */
function formDecode(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return undefined;
  }
}

/** Reads HTTP Basic; undefined for another scheme, broken base64, a missing colon or an empty part. */
export function parseBasic(authorization: string | undefined): ClientCredentials | undefined {
  const encoded = BASIC.exec(authorization ?? "")?.[1];
  if (encoded === undefined) return undefined;
  const text = Buffer.from(encoded, "base64").toString("utf8");
  const colon = text.indexOf(":");
  if (colon < 1) return undefined;
  const clientId = formDecode(text.slice(0, colon));
  const clientSecret = formDecode(text.slice(colon + 1));
  return clientId && clientSecret ? { clientId, clientSecret } : undefined;
}

const NO_SECRET = Buffer.alloc(32);

/** The client whose secret was given. Fails with `invalid_client`, alike for an unknown client and for a wrong secret. */
export async function authenticateClient(
  deps: { readonly issuer: string; readonly pepper: Uint8Array; readonly clients: Pick<ClientStore, "findForToken"> },
  { clientId, clientSecret }: ClientCredentials,
): Promise<TokenClient> {
  const wrong = invalidClient(deps.issuer, "The client does not exist, is revoked, or its secret is wrong.");
  // PostgreSQL holds no NUL, and no id of ours is long.
  const isPossibleId = /^[A-Za-z0-9_-]{1,128}$/.test(clientId);
  const client = isPossibleId ? await deps.clients.findForToken(clientId) : undefined;
  const given = hashSecret(deps.pepper, clientSecret);
  // Both are compared whatever comes, so that an unknown client and one without an earlier secret take the same path.
  const isCurrent = isSecret(client?.secretHash, given);
  const isPrevious = isSecret(client?.previousSecretHash, given);
  if (client === undefined || !(isCurrent || isPrevious)) throw wrong;
  return client;
}

/** No secret hashes to NO_SECRET. */
function isSecret(expected: Uint8Array = NO_SECRET, given: Uint8Array): boolean {
  return expected.length === given.length && timingSafeEqual(expected, given);
}
