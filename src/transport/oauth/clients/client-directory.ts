import type { AllClientMetadata } from "oidc-provider";
import { isJsonObject, type JsonObject } from "../../../json.ts";
import type { ClientStore, TokenClient } from "../../../identity/clients/clients.ts";
import { hashSecret } from "../../../identity/hash-secret.ts";
import { randomId, randomSecret } from "../../../identity/random.ts";
import { ownToProvider, parseRegistration, type PublishedMetadata, publishedToProvider } from "./client-metadata.ts";
import type { PayloadStore } from "../../../identity/oauth/payload-store.ts";

/** A stored client: created by an account, or registered by itself. */
export interface KnownClient {
  readonly clientId: string;
  readonly metadata: AllClientMetadata;
  /** The hashes of the valid secrets. Empty for clients without a secret. */
  readonly secretHashes: readonly Uint8Array[];
  /** Undefined for a client that registered itself. */
  readonly own: TokenClient | undefined;
}

/** Finds the stored clients. The provider fetches clients whose id is the address of a document. */
export interface ClientDirectory {
  find(clientId: string): Promise<KnownClient | undefined>;
  /** Registers a client. It is deleted after a day unless a person approves it. */
  register(
    metadata: PublishedMetadata,
  ): Promise<{ readonly clientId: string; readonly clientSecret: string | undefined }>;
  /** Makes a registered client permanent after a person approved it. */
  keep(clientId: string): Promise<void>;
}

const REGISTERED_ID = /^dcr_[A-Za-z0-9_-]{22}$/;
const OWN_ID = /^[A-Za-z0-9_-]{1,128}$/;

/** How long a client without approval is kept. */
const UNAPPROVED_MS = 86_400_000;

/** Whether a client id is the address of a metadata document. */
export function isDocumentAddress(clientId: string): boolean {
  return /^https:\/\//i.test(clientId);
}

/** Creates the directory from the two stores. */
export function createClientDirectory(deps: {
  readonly clients: Pick<ClientStore, "findForToken">;
  readonly payloads: PayloadStore;
  readonly pepper: Uint8Array;
}): ClientDirectory {
  async function findOwn(clientId: string): Promise<KnownClient | undefined> {
    const own = await deps.clients.findForToken(clientId);
    if (own === undefined) return undefined;
    const secretHashes = [own.secretHash, own.previousSecretHash].filter((hash) => hash !== undefined);
    return { clientId, metadata: ownToProvider(own), secretHashes, own };
  }

  async function findRegistered(clientId: string): Promise<KnownClient | undefined> {
    const stored = await deps.payloads.find("Client", clientId);
    if (stored === undefined) return undefined;
    const { metadata, secret_hash: secretHash } = stored.payload;
    if (!isJsonObject(metadata)) throw new Error("a registered client has no metadata");
    return {
      clientId,
      metadata: publishedToProvider(clientId, parseRegistration(metadata)),
      secretHashes: typeof secretHash === "string" ? [Buffer.from(secretHash, "base64url")] : [],
      own: undefined,
    };
  }

  return {
    async find(clientId) {
      // PostgreSQL cannot store NUL, and our ids are short.
      if (REGISTERED_ID.test(clientId)) return findRegistered(clientId);
      return OWN_ID.test(clientId) ? findOwn(clientId) : undefined;
    },
    async register(published) {
      const clientId = randomId("dcr_");
      const clientSecret = published.tokenEndpointAuthMethod === "client_secret_basic" ? randomSecret() : undefined;
      const hash = clientSecret && hashSecret(deps.pepper, clientSecret).toString("base64url");
      await deps.payloads.insert({
        model: "Client",
        id: clientId,
        payload: { metadata: registeredMetadata(published), ...(hash !== undefined && { secret_hash: hash }) },
        grantId: undefined,
        expiresAt: new Date(Date.now() + UNAPPROVED_MS),
      });
      return { clientId, clientSecret };
    },
    async keep(clientId) {
      if (REGISTERED_ID.test(clientId)) await deps.payloads.keep("Client", clientId);
    },
  };
}

/** The metadata of a registered client, also the response of the registration endpoint (RFC 7591 §3.2.1). */
export function registeredMetadata(published: PublishedMetadata): JsonObject {
  const { clientName, redirectUris, tokenEndpointAuthMethod, jwks, jwksUri } = published;
  return {
    ...(clientName !== undefined && { client_name: clientName }),
    redirect_uris: [...redirectUris],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: tokenEndpointAuthMethod,
    ...(jwks !== undefined && { jwks }),
    ...(jwksUri !== undefined && { jwks_uri: jwksUri }),
  };
}
