import type { AuthorizationTerms } from "../authorization.ts";
import { TokenFailure } from "./token-failure.ts";
import type { UpstreamClients } from "./upstream-clients.ts";

/**
 * Asks an authorization server in the name of our client there. One that it does not know (any longer) is dropped if it was
 * registered, so that the next authorization registers anew. Throws what `ask` does.
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
