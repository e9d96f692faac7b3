import { processRevocationResponse, WWWAuthenticateChallengeError } from "oauth4webapi";

/** What a protected resource says when it refuses a request for want of a token, or of what it allows (RFC 6750 §3). */
export interface Challenge {
  /** The error word, such as `invalid_token` or `insufficient_scope`. */
  readonly error: string | undefined;
  /** Space-separated: the scopes that would do. */
  readonly scope: string | undefined;
  /** Where it describes itself (RFC 9728 §5.1). */
  readonly resourceMetadata: string | undefined;
}

/** Reads the first Bearer challenge of a `WWW-Authenticate` header; undefined where there is none. */
export async function readChallenge(header: string | undefined): Promise<Challenge | undefined> {
  if (header === undefined) return undefined;
  try {
    // The library reads challenges in the refusals of whatever it processes; this one has nothing else in it.
    await processRevocationResponse(new Response(null, { status: 401, headers: { "www-authenticate": header } }));
  } catch (error) {
    if (!(error instanceof WWWAuthenticateChallengeError)) return undefined;
    const found = error.cause.find(({ scheme }) => scheme === "bearer");
    if (found === undefined) return undefined;
    const { parameters } = found;
    return {
      error: parameters.error,
      scope: parameters.scope,
      resourceMetadata: parameters["resource_metadata"],
    };
  }
  return undefined;
}
