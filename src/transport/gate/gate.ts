import type { Principal } from "../../identity/principal.ts";
import { satisfies } from "../../identity/scopes.ts";
import { DomainError } from "../../domain-error.ts";
import { TransportError } from "../http/fault.ts";
import type { HttpExchange } from "../http/exchange.ts";
import type { Rpc } from "../rpc/rpc.ts";
import type { FailureLimit } from "./failure-limit.ts";
import type { Rates } from "./rates.ts";

/** Authenticates the `Authorization` header. Throws DomainError `unauthenticated` with a public text. */
export interface Verifier {
  verify(
    authorization: string | undefined,
    audiences: readonly string[],
    connection?: object,
  ): Principal | Promise<Principal>;
}

/** What the gate needs to know about the called RPC. */
export interface Access extends Pick<Rpc, "isPublic" | "requiredScopes" | "audiences"> {
  readonly texts: Pick<Rpc["texts"], "forbidden">;
  /** Address of the protected resource metadata (RFC 9728). */
  readonly resourceMetadataUrl?: string;
  /** The scopes named in challenges. Default: the required ones, and only in a 403. */
  readonly challengedScopes?: readonly string[];
}

/** Authorizes a call before its body is read. Returns undefined for a public RPC. */
export type Gate = (access: Access, exchange: HttpExchange) => Principal | undefined | Promise<Principal | undefined>;

export interface GateDeps {
  readonly verifier: Verifier;
  readonly failureLimit: FailureLimit;
  readonly rates: Pick<Rates, "countAccount">;
  /** Returns the address that limits are counted for. */
  readonly clientAddress: (exchange: HttpExchange) => string;
}

/**
 * Creates the gate. It rejects with 401 and a challenge, 403 with the specification's text, or 429 for addresses with
 * too many failures and accounts with too many requests.
 */
export function createGate(deps: GateDeps): Gate {
  const { verifier, failureLimit, rates } = deps;

  const refuse = (thrown: unknown, access: Access, exchange: HttpExchange): never => {
    if (!(thrown instanceof DomainError) || thrown.kind !== "unauthenticated") throw thrown;
    failureLimit.countFailure(deps.clientAddress(exchange));
    const hasToken = thrown.reason !== "CREDENTIALS_MISSING";
    const parameters = {
      ...(hasToken && { error: "invalid_token" }),
      ...(access.challengedScopes !== undefined && { scope: access.challengedScopes.join(" ") }),
    };
    throw new TransportError("unauthenticated", thrown.message, {
      reason: thrown.reason,
      headers: { "www-authenticate": challenge(parameters, access.resourceMetadataUrl) },
    });
  };

  const admit = (principal: Principal, access: Access, exchange: HttpExchange): Principal => {
    if (satisfies(principal.scopes, access.requiredScopes)) {
      rates.countAccount(exchange, principal.accountId);
      return principal;
    }
    const scopes = access.challengedScopes ?? access.requiredScopes;
    const parameters = { error: "insufficient_scope", scope: scopes.join(" ") };
    throw new TransportError("forbidden", access.texts.forbidden, {
      reason: "INSUFFICIENT_SCOPE",
      metadata: { scope: scopes.join(" ") },
      headers: { "www-authenticate": challenge(parameters, access.resourceMetadataUrl) },
    });
  };

  return (access, exchange) => {
    if (access.isPublic) return undefined;
    const secondsBlocked = failureLimit.hasBlocked() ? failureLimit.secondsBlocked(deps.clientAddress(exchange)) : 0;
    if (secondsBlocked > 0) {
      throw new TransportError("exhausted", "Too many requests without valid credentials.", {
        retryAfterSeconds: secondsBlocked,
      });
    }
    let verified: Principal | Promise<Principal>;
    try {
      verified = verifier.verify(exchange.headers.authorization, access.audiences, exchange.connection);
    } catch (thrown) {
      return refuse(thrown, access, exchange);
    }
    if (!(verified instanceof Promise)) return admit(verified, access, exchange);
    return verified.then(
      (principal) => admit(principal, access, exchange),
      (thrown: unknown) => refuse(thrown, access, exchange),
    );
  };
}

/** A Bearer challenge (RFC 6750 §3). It has an error code only if a token was given. */
function challenge(parameters: Readonly<Record<string, string>>, resourceMetadataUrl: string | undefined): string {
  const all = {
    realm: "patchbay",
    ...parameters,
    ...(resourceMetadataUrl !== undefined && { resource_metadata: resourceMetadataUrl }),
  };
  return `Bearer ${Object.entries(all)
    .map(([name, value]) => `${name}="${value}"`)
    .join(", ")}`;
}
