import { processRevocationResponse, WWWAuthenticateChallengeError } from "oauth4webapi";

/** A Bearer challenge of a protected resource (RFC 6750 §3). */
export interface Challenge {
  /** An error code such as `invalid_token` or `insufficient_scope`. */
  readonly error: string | undefined;
  /** The required scopes, space-separated. */
  readonly scope: string | undefined;
  /** The URL of the resource metadata (RFC 9728 §5.1). */
  readonly resourceMetadata: string | undefined;
}

/** Reads the first Bearer challenge of a `WWW-Authenticate` header. */
export async function readChallenge(header: string | undefined): Promise<Challenge | undefined> {
  if (header === undefined) return undefined;
  try {
    // The library parses challenges only in responses that it processes.
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
