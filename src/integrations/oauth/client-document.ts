import { createHash } from "node:crypto";
import type { JsonObject } from "../../json.ts";

/** Path of the address that vendors send people back to, where the operator registered this installation by hand. */
export const CALLBACK_PATH = "/authorizations/callback";
/** Path of the document that names that address; authorizations from before issuers had addresses of their own refer to it. */
export const CLIENT_DOCUMENT_PATH = "/authorizations/client.json";
/** Below this path each discovered issuer has a document of its own. */
export const CLIENT_DOCUMENTS_PATH = "/authorizations/client";

const ISSUER_CALLBACK = /^\/authorizations\/callback\/[A-Za-z0-9_-]{43}$/;

/**
 * Path of the address that one discovered issuer sends people back to. No two issuers share one, so a code that another issuer
 * gave out arrives where it is refused (RFC 9700 §4.4.2.2).
 */
export function callbackPathOf(issuer: string): string {
  return `${CALLBACK_PATH}/${createHash("sha256").update(issuer).digest("base64url")}`;
}

/** Path of the document that names this callback path and no other. */
export function documentPathOf(callbackPath: string): string {
  return `${CLIENT_DOCUMENTS_PATH}${callbackPath.slice(CALLBACK_PATH.length)}.json`;
}

/** The callback path that the document at this path names; undefined for a path that no issuer has. */
export function callbackPathIn(documentPath: string): string | undefined {
  const path = documentPath.slice(CLIENT_DOCUMENTS_PATH.length).replace(/\.json$/, "");
  const callbackPath = `${CALLBACK_PATH}${path}`;
  const isOurs = ISSUER_CALLBACK.test(callbackPath) && documentPathOf(callbackPath) === documentPath;
  return isOurs ? callbackPath : undefined;
}

/** Who we say we are to authorization servers: by registration, or by a document at our own address. */
export function clientMetadata(publicUrl: string, callbackPath: string): JsonObject {
  const { hostname } = new URL(publicUrl);
  return {
    client_name: "Patchbay",
    client_uri: publicUrl,
    redirect_uris: [`${publicUrl}${callbackPath}`],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    // OpenID: web clients come back over https, native ones to this machine.
    application_type: isLoopback(hostname) ? "native" : "web",
    token_endpoint_auth_method: "none",
  };
}

/** Our Client ID Metadata Document (draft-ietf-oauth-client-id-metadata-document) at this path: its address is our client id. */
export function clientDocument(publicUrl: string, path: string, callbackPath: string): JsonObject {
  return { client_id: `${publicUrl}${path}`, ...clientMetadata(publicUrl, callbackPath) };
}

/** The address of the document that names this callback path; undefined where no server would read it, since it must be https. */
export function clientDocumentUrl(publicUrl: string, callbackPath: string): string | undefined {
  return publicUrl.startsWith("https:") ? `${publicUrl}${documentPathOf(callbackPath)}` : undefined;
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || hostname.startsWith("127.");
}
