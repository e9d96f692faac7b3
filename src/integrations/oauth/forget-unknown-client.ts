import type { AuthorizationTerms } from "../authorization.ts";
import { TokenFailure } from "./token-failure.ts";
import type { UpstreamClients } from "./upstream-clients.ts";

/**
 * Sends a request of a registered client. When the server no longer knows the client, its registration is deleted, so
 * that the next authorization registers again. Rethrows the error.
 */
export async function forgetClientIfUnknown<Result>(
  { client, server }: AuthorizationTerms,
  redirectUri: string,
  clients: Pick<UpstreamClients, "forget">,
  send: () => Promise<Result>,
): Promise<Result> {
  try {
    return await send();
  } catch (error) {
    if (client.source === "registered" && error instanceof TokenFailure && error.code === "invalid_client")
      await clients.forget({ issuer: server.issuer, redirectUri }, client.clientId);
    throw error;
  }
}
