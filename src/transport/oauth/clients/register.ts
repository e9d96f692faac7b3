import { RateLimiterMemory, RateLimiterRes } from "rate-limiter-flexible";
import { DomainError } from "../../../domain-error.ts";
import type { JsonObject } from "../../../json.ts";
import { type ClientDirectory, registeredMetadata } from "./client-directory.ts";
import { ClientMetadataFault, parseRegistration, PUBLISHED_CLIENT_SCOPES } from "./client-metadata.ts";
import type { HttpExchange } from "../../http/exchange.ts";
import { MAX_JSON_DEPTH, readJsonForm } from "../../http/read-body.ts";
import { OAuthError } from "../oauth-error.ts";
import { clientAddress, isConfidential } from "../../http/peer.ts";
import { isAllowedBy, type RedirectRule } from "../../../identity/clients/client-redirect-uri.ts";

/** Registers a client and returns the response of RFC 7591 §3.2.1. Fails with an OAuthError. */
export type RegisterClient = (exchange: HttpExchange) => Promise<JsonObject>;

/** Registrations allowed per address and hour. */
const PER_HOUR = 60;

function refused(code: string, message: string): OAuthError {
  return new OAuthError(400, code, message);
}

/**
 * Dynamic client registration (RFC 7591), for redirects that the operator's rule allows. oidc-provider would store the
 * secret as text, which the test "returns the secret of a registered client once, stores only its hash and requires it
 * in the Authorization header" forbids.
 */
export function createRegisterClient(deps: {
  readonly directory: Pick<ClientDirectory, "register">;
  readonly rule: RedirectRule;
  readonly trustProxy: boolean;
}): RegisterClient {
  const limiter = new RateLimiterMemory({ points: PER_HOUR, duration: 3_600 });

  async function admit(exchange: HttpExchange): Promise<void> {
    try {
      await limiter.consume(clientAddress(exchange, deps.trustProxy));
    } catch (rejected) {
      if (!(rejected instanceof RateLimiterRes)) throw rejected;
      const retryAfterSeconds = rejected.msBeforeNext / 1_000;
      throw new DomainError("exhausted", "Too many registrations from this address. Try again later.", {
        retryAfterSeconds,
      });
    }
  }

  async function readMetadata(exchange: HttpExchange): Promise<JsonObject> {
    try {
      const body = await readJsonForm(exchange);
      if (body !== undefined) return body;
    } catch (error) {
      // A wrong type or size is an HTTP error; wrong content is an error of RFC 7591.
      if (!(error instanceof DomainError) || error.field !== "body") throw error;
    }
    throw refused("invalid_client_metadata", `The body must be a JSON object of at most ${MAX_JSON_DEPTH} levels.`);
  }

  return async (exchange) => {
    if (!isConfidential(exchange, deps.trustProxy)) {
      throw refused("invalid_client_metadata", "Registration requires HTTPS.");
    }
    await admit(exchange);
    const body = await readMetadata(exchange);
    try {
      const metadata = parseRegistration(body);
      const foreign = metadata.redirectUris.find((uri) => !isAllowedBy(deps.rule, uri));
      if (foreign !== undefined) {
        const shown = JSON.stringify(foreign.slice(0, 128));
        throw new ClientMetadataFault("invalid_redirect_uri", `${shown} is not an allowed redirect address.`);
      }
      const { clientId, clientSecret } = await deps.directory.register(metadata);
      return {
        client_id: clientId,
        client_id_issued_at: Math.floor(Date.now() / 1_000),
        ...(clientSecret !== undefined && { client_secret: clientSecret, client_secret_expires_at: 0 }),
        ...registeredMetadata(metadata),
        scope: PUBLISHED_CLIENT_SCOPES.join(" "),
      };
    } catch (error) {
      if (error instanceof ClientMetadataFault) throw refused(error.code, error.message);
      throw error;
    }
  };
}
