import type { Origin } from "../../identity/actor.ts";
import type { AuthenticatedClient, ClientAuthentication } from "./client-authentication.ts";
import { type HttpRequest, readForm, singleHeader } from "../http/node-exchange.ts";
import { invalidClient, invalidRequest, OAuthError } from "./oauth-error.ts";
import { isConfidential, requestOrigin } from "../http/peer.ts";

/** A form and the client that sent it. */
export interface ClientRequest {
  readonly client: AuthenticatedClient;
  readonly parameters: ReadonlyMap<string, string>;
  readonly origin: Origin;
}

/** Reads what a client sends to an endpoint of its own. Fails with an OAuthError. */
export type ReadClientRequest = (request: HttpRequest) => Promise<ClientRequest>;

const FORM = /^application\/x-www-form-urlencoded\s*(;|$)/i;

/** The parameters of a form, each at most once (RFC 6749 §3.2). */
export function parseForm(form: string): ReadonlyMap<string, string> {
  const parameters = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(form)) {
    if (parameters.has(name)) {
      if (name === "resource") throw new OAuthError(400, "invalid_target", "A token is for one resource.");
      throw invalidRequest(`The parameter ${JSON.stringify(name.slice(0, 64))} is given more than once.`);
    }
    parameters.set(name, value);
  }
  // A parameter without a value counts as omitted.
  for (const [name, value] of parameters) if (value === "") parameters.delete(name);
  return parameters;
}

/** Reads requests in the order of DESIGN §6: the connection, the header's credentials, and only then the body. */
export function createReadClientRequest(deps: {
  readonly issuer: string;
  readonly authentication: ClientAuthentication;
  readonly trustProxy: boolean;
}): ReadClientRequest {
  return async (request) => {
    if (!isConfidential(request, deps.trustProxy)) {
      throw invalidRequest("Token requests are accepted over HTTPS alone.");
    }
    const origin = requestOrigin(request, deps.trustProxy);
    const client = await deps.authentication.byHeader(request);
    if (!FORM.test(singleHeader(request, "content-type") ?? "")) {
      if (client === undefined) throw invalidClient(deps.issuer, "The request is from no client.");
      throw new OAuthError(415, "invalid_request", "The body is a form: application/x-www-form-urlencoded.");
    }
    const parameters = parseForm(await readForm(request));
    if (client === undefined)
      return { client: await deps.authentication.byForm(request, parameters), parameters, origin };
    if (parameters.has("client_secret") || parameters.has("client_assertion")) {
      throw invalidRequest("A client authenticates in one way alone.");
    }
    if ((parameters.get("client_id") ?? client.clientId) !== client.clientId) {
      throw invalidRequest("The parameter client_id is not the client that authenticates.");
    }
    return { client, parameters, origin };
  };
}
