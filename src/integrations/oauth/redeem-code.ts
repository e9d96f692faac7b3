import {
  authorizationCodeGrantRequest,
  AuthorizationResponseError,
  processAuthorizationCodeResponse,
  validateAuthResponse,
} from "oauth4webapi";
import type { Dispatcher } from "undici";
import { clip } from "../clip.ts";
import type { AuthorizationProof, AuthorizationTerms, IssuedTokens } from "../authorization.ts";
import { TokenFailure } from "./token-failure.ts";
import { requestTokens, type TokenEndpointRequest, tokenEndpointRequest } from "./token-request.ts";

/** Remedies for authorization error codes (RFC 6749 §4.1.2.1). */
const MEANINGS: Readonly<Record<string, string>> = {
  access_denied: "The login was denied: authorize the connection again, and allow it.",
  invalid_scope: "The scopes that were asked for are not given there: ask for others with oauth_scope.",
  unauthorized_client: "Our client may not request authorization there: the server's operator can allow it.",
  temporarily_unavailable: "It is overloaded: try again in a few minutes.",
  server_error: "The fault is on its side: try again later.",
};

/**
 * Exchanges an authorization code for tokens. Checks `state` and `iss` (RFC 9207) before it sends anything. Throws
 * TokenFailure with a message for the owner, or the signal's reason.
 */
export async function redeemCode(
  terms: AuthorizationTerms,
  parameters: URLSearchParams,
  proof: AuthorizationProof,
  dispatcher: Dispatcher,
  signal: AbortSignal,
): Promise<IssuedTokens> {
  const request = tokenEndpointRequest(terms, dispatcher, signal);
  const { server, client, authenticate, options } = request;
  const answer = checkedAnswer(terms, request, parameters, proof.state);
  return requestTokens(
    terms,
    [answer.get("code") ?? "", proof.codeVerifier],
    signal,
    () =>
      authorizationCodeGrantRequest(server, client, authenticate, answer, proof.redirectUri, proof.codeVerifier, {
        ...options,
        ...(terms.resource !== undefined && { additionalParameters: { resource: terms.resource } }),
      }),
    (response) => processAuthorizationCodeResponse(server, client, response),
  );
}

function checkedAnswer(
  { title }: AuthorizationTerms,
  { server, client }: TokenEndpointRequest,
  parameters: URLSearchParams,
  state: string,
): URLSearchParams {
  const { host } = new URL(server.issuer);
  try {
    const answer = validateAuthResponse(server, client, parameters, state);
    if (answer.getAll("code").length !== 1)
      throw new TokenFailure(
        "other",
        `The authorization server of ${title} at ${host} sent you back without one code: authorize the connection again.`,
      );
    return answer;
  } catch (error) {
    if (error instanceof TokenFailure) throw error;
    if (error instanceof AuthorizationResponseError) {
      const description = error.error_description === undefined ? "" : `: ${error.error_description}`;
      const said = clip(`${error.error}${description}`).replace(/(?<![.\s])[.\s]+$/, "");
      const meaning =
        MEANINGS[error.error] ??
        "Authorize the connection again; if it fails again, report it to the server's operator.";
      throw new TokenFailure(
        "refused",
        `The authorization server of ${title} at ${host} answered ${said}. ${meaning}`,
        { cause: error },
      );
    }
    throw new TokenFailure(
      "other",
      `The answer does not come from where the connection was to be authorized (${host}), so nothing was sent there. ` +
        "Authorize the connection again.",
      { cause: error },
    );
  }
}
