import { createHash } from "node:crypto";
import type { JsonObject } from "../../json.ts";

/** Callback path of clients that the operator registered. */
export const CALLBACK_PATH = "/authorizations/callback";
/**
 * Path of the client document for CALLBACK_PATH, kept for authorizations from before each issuer had its own
 * callback.
 */
export const CLIENT_DOCUMENT_PATH = "/authorizations/client.json";
/** Each discovered issuer has a document below this path. */
export const CLIENT_DOCUMENTS_PATH = "/authorizations/client";

const ISSUER_CALLBACK = /^\/authorizations\/callback\/[A-Za-z0-9_-]{43}$/;

/**
 * Returns an issuer's own callback path. A code of another issuer therefore arrives at a path that rejects it (RFC
 * 9700 §4.4.2.2).
 */
export function callbackPathOf(issuer: string): string {
  return `${CALLBACK_PATH}/${createHash("sha256").update(issuer).digest("base64url")}`;
}

/** Path of the client document for a callback path. */
export function documentPathOf(callbackPath: string): string {
  return `${CLIENT_DOCUMENTS_PATH}${callbackPath.slice(CALLBACK_PATH.length)}.json`;
}

/** Returns the callback path of the document at this path; undefined when no issuer can have it. */
export function callbackPathIn(documentPath: string): string | undefined {
  const path = documentPath.slice(CLIENT_DOCUMENTS_PATH.length).replace(/\.json$/, "");
  const callbackPath = `${CALLBACK_PATH}${path}`;
  const isOurs = ISSUER_CALLBACK.test(callbackPath) && documentPathOf(callbackPath) === documentPath;
  return isOurs ? callbackPath : undefined;
}

/** Client metadata for registration and for the client document. */
export function clientMetadata(publicUrl: string, callbackPath: string): JsonObject {
  const { hostname } = new URL(publicUrl);
  return {
    client_name: "Patchbay",
    client_uri: publicUrl,
    redirect_uris: [`${publicUrl}${callbackPath}`],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    // OpenID Connect: web clients use https redirects, native ones loopback redirects.
    application_type: isLoopback(hostname) ? "native" : "web",
    token_endpoint_auth_method: "none",
  };
}

/** A client ID metadata document (draft-ietf-oauth-client-id-metadata-document). Its URL is the client id. */
export function clientDocument(publicUrl: string, path: string, callbackPath: string): JsonObject {
  return { client_id: `${publicUrl}${path}`, ...clientMetadata(publicUrl, callbackPath) };
}

/** Returns undefined without https, since servers then do not read the document. */
export function clientDocumentUrl(publicUrl: string, callbackPath: string): string | undefined {
  return publicUrl.startsWith("https:") ? `${publicUrl}${documentPathOf(callbackPath)}` : undefined;
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || hostname.startsWith("127.");
}
