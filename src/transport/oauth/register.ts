import { RateLimiterMemory, RateLimiterRes } from "rate-limiter-flexible";
import { isJsonObject, type JsonObject, parseJson } from "../../json.ts";
import { type ClientDirectory, registeredMetadata } from "./client-directory.ts";
import { ClientMetadataFault, parseRegistration, STRANGER_SCOPES } from "./client-metadata.ts";
import { type HttpRequest, readForm, singleHeader } from "../http/node-exchange.ts";
import { OAuthError } from "./oauth-error.ts";
import { callerAddress, isConfidential } from "../http/peer.ts";
import { isAllowedBy, type RedirectRule } from "../../identity/client-redirect-uri.ts";

/** Registers the client that a request describes; the answer of RFC 7591 §3.2.1. Fails with an OAuthError. */
export type RegisterClient = (request: HttpRequest) => Promise<JsonObject>;

const JSON_TYPE = /^application\/json\s*(;|$)/i;

/** Registrations from one address in an hour. */
const PER_HOUR = 60;

function refused(code: string, message: string): OAuthError {
  return new OAuthError(400, code, message);
}

/** Registration of clients by themselves, for redirects that the operator's rule allows (RFC 7591). */
export function createRegisterClient(deps: {
  readonly directory: Pick<ClientDirectory, "register">;
  readonly rule: RedirectRule;
  readonly trustProxy: boolean;
}): RegisterClient {
  const limiter = new RateLimiterMemory({ points: PER_HOUR, duration: 3_600 });

  async function admit(request: HttpRequest): Promise<void> {
    try {
      await limiter.consume(callerAddress(request, deps.trustProxy));
    } catch (rejected) {
      if (!(rejected instanceof RateLimiterRes)) throw rejected;
      const headers = { "retry-after": String(Math.ceil(rejected.msBeforeNext / 1_000)) };
      throw new OAuthError(429, "temporarily_unavailable", "Too many clients register from there.", headers);
    }
  }

  async function readMetadata(request: HttpRequest): Promise<JsonObject> {
    if (!JSON_TYPE.test(singleHeader(request, "content-type") ?? "")) {
      throw new OAuthError(415, "invalid_client_metadata", "The body is JSON: application/json.");
    }
    const text = await readForm(request);
    try {
      const body = parseJson(text, { maxDepth: 8 });
      if (isJsonObject(body)) return body;
    } catch {
      // Said below.
    }
    throw refused("invalid_client_metadata", "The body is a JSON object of at most 8 levels.");
  }

  return async (request) => {
    if (!isConfidential(request, deps.trustProxy)) {
      throw refused("invalid_client_metadata", "Clients are registered over HTTPS alone.");
    }
    await admit(request);
    const body = await readMetadata(request);
    try {
      const metadata = parseRegistration(body);
      const foreign = metadata.redirectUris.find((uri) => !isAllowedBy(deps.rule, uri));
      if (foreign !== undefined) {
        const shown = JSON.stringify(foreign.slice(0, 128));
        throw new ClientMetadataFault("invalid_redirect_uri", `${shown} is not among the redirects allowed here.`);
      }
      const { clientId, clientSecret } = await deps.directory.register(metadata);
      return {
        client_id: clientId,
        client_id_issued_at: Math.floor(Date.now() / 1_000),
        ...(clientSecret !== undefined && { client_secret: clientSecret, client_secret_expires_at: 0 }),
        ...registeredMetadata(metadata),
        scope: STRANGER_SCOPES.join(" "),
      };
    } catch (error) {
      if (error instanceof ClientMetadataFault) throw refused(error.code, error.message);
      throw error;
    }
  };
}
