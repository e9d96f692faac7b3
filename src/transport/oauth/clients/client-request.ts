import type { Origin } from "../../../identity/actor.ts";
import type { AuthenticatedClient, ClientAuthentication } from "./client-authentication.ts";
import type { HttpExchange } from "../../http/exchange.ts";
import { isForm, readForm } from "../../http/read-body.ts";
import { invalidClient, invalidRequest, OAuthError } from "../oauth-error.ts";
import { isConfidential, requestOrigin } from "../../http/peer.ts";

/** A form and the client that sent it. */
export interface ClientRequest {
  readonly client: AuthenticatedClient;
  readonly parameters: ReadonlyMap<string, string>;
  readonly origin: Origin;
}

/** Reads a client's request to one of its endpoints. Fails with an OAuthError. */
export type ReadClientRequest = (exchange: HttpExchange) => Promise<ClientRequest>;

/** Parses the parameters of a form, each at most once (RFC 6749 §3.2). */
function parseForm(form: URLSearchParams): ReadonlyMap<string, string> {
  const parameters = new Map<string, string>();
  for (const [name, value] of form) {
    if (parameters.has(name)) {
      if (name === "resource") throw new OAuthError(400, "invalid_target", "Only one resource is supported per token.");
      throw invalidRequest(`The parameter ${JSON.stringify(name.slice(0, 64))} is repeated.`);
    }
    parameters.set(name, value);
  }
  // A parameter without a value counts as omitted.
  for (const [name, value] of parameters) if (value === "") parameters.delete(name);
  return parameters;
}

/** Checks requests in the order of DESIGN §6: the connection, the credentials in the header, then the body. */
export function createReadClientRequest(deps: {
  readonly issuer: string;
  readonly authentication: ClientAuthentication;
  readonly trustProxy: boolean;
}): ReadClientRequest {
  return async (exchange) => {
    if (!isConfidential(exchange, deps.trustProxy)) {
      throw invalidRequest("Token requests require HTTPS.");
    }
    const origin = requestOrigin(exchange, deps.trustProxy);
    const client = await deps.authentication.byHeader(exchange);
    if (client === undefined && !isForm(exchange))
      throw invalidClient(deps.issuer, "The request does not identify a client.");
    const parameters = parseForm(await readForm(exchange));
    if (client === undefined)
      return { client: await deps.authentication.byForm(exchange, parameters), parameters, origin };
    if (parameters.has("client_secret") || parameters.has("client_assertion")) {
      throw invalidRequest("A client must use only one authentication method.");
    }
    if ((parameters.get("client_id") ?? client.clientId) !== client.clientId) {
      throw invalidRequest("The parameter client_id differs from the authenticated client.");
    }
    return { client, parameters, origin };
  };
}
