import type { JsonObject } from "../../json.ts";

/** Path of the address that vendors send people back to. */
export const CALLBACK_PATH = "/authorizations/callback";
/** Path of the document that says who we are. */
export const CLIENT_DOCUMENT_PATH = "/authorizations/client.json";

/** Who we say we are to authorization servers: by registration, or by a document at our own address. */
export function clientMetadata(publicUrl: string): JsonObject {
  const { hostname } = new URL(publicUrl);
  return {
    client_name: "Patchbay",
    client_uri: publicUrl,
    redirect_uris: [`${publicUrl}${CALLBACK_PATH}`],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    // OpenID: web clients come back over https, native ones to this machine.
    application_type: isLoopback(hostname) ? "native" : "web",
    token_endpoint_auth_method: "none",
  };
}

/** Our Client ID Metadata Document (draft-ietf-oauth-client-id-metadata-document): its address is our client id. */
export function clientDocument(publicUrl: string): JsonObject {
  return { client_id: `${publicUrl}${CLIENT_DOCUMENT_PATH}`, ...clientMetadata(publicUrl) };
}

/** The address of the document; undefined where no authorization server would read it, since it must be https. */
export function clientDocumentUrl(publicUrl: string): string | undefined {
  return publicUrl.startsWith("https:") ? `${publicUrl}${CLIENT_DOCUMENT_PATH}` : undefined;
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || hostname.startsWith("127.");
}
