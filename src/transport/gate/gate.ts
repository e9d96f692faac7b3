import type { Principal } from "../../auth/principal.ts";
import { satisfies } from "../../auth/scopes.ts";
import { DomainError } from "../../domain-error.ts";
import { TransportError } from "../fault.ts";
import type { Exchange } from "../http/exchange.ts";
import type { Rpc } from "../rpc.ts";
import type { FailureLimit } from "./failure-limit.ts";

/** Turns an `Authorization` header into who acts. Throws DomainError `unauthenticated` with the text for the caller. */
export interface Verifier {
  verify(authorization: string | undefined, audiences: readonly string[]): Principal | Promise<Principal>;
}

/** Decides who may call an RPC before a byte of the body is read. Undefined for a public RPC. */
export type Gate = (rpc: Rpc, exchange: Exchange) => Principal | undefined | Promise<Principal | undefined>;

/** What the gate needs. */
export interface GateDeps {
  readonly verifier: Verifier;
  readonly failureLimit: FailureLimit;
  /** The address that limits are counted for. */
  readonly clientAddress: (exchange: Exchange) => string;
  /** Where a client finds out how to get a token (RFC 9728). */
  readonly resourceMetadataUrl?: string;
}

/** Makes the gate: 401 with a challenge, 403 with the specification's text, 429 for addresses that keep failing. */
export function createGate(deps: GateDeps): Gate {
  const { verifier, failureLimit } = deps;

  const refuse = (thrown: unknown, exchange: Exchange): never => {
    if (!(thrown instanceof DomainError) || thrown.kind !== "unauthenticated") throw thrown;
    failureLimit.countFailure(deps.clientAddress(exchange));
    const hasToken = exchange.headers.authorization !== undefined;
    throw new TransportError("unauthenticated", thrown.message, {
      headers: { "www-authenticate": challenge(hasToken ? { error: "invalid_token" } : {}, deps.resourceMetadataUrl) },
    });
  };

  const admit = (principal: Principal, rpc: Rpc): Principal => {
    if (satisfies(principal.scopes, rpc.requiredScopes)) return principal;
    const parameters = { error: "insufficient_scope", scope: rpc.requiredScopes.join(" ") };
    throw new TransportError("forbidden", rpc.texts.forbidden, {
      headers: { "www-authenticate": challenge(parameters, deps.resourceMetadataUrl) },
    });
  };

  return (rpc, exchange) => {
    if (rpc.isPublic) return undefined;
    const secondsBlocked = failureLimit.hasBlocked() ? failureLimit.secondsBlocked(deps.clientAddress(exchange)) : 0;
    if (secondsBlocked > 0) {
      throw new TransportError("exhausted", "Too many requests without valid credentials.", {
        retryAfterSeconds: secondsBlocked,
      });
    }
    let verified: Principal | Promise<Principal>;
    try {
      verified = verifier.verify(exchange.headers.authorization, rpc.audiences);
    } catch (thrown) {
      return refuse(thrown, exchange);
    }
    if (!(verified instanceof Promise)) return admit(verified, rpc);
    return verified.then(
      (principal) => admit(principal, rpc),
      (thrown: unknown) => refuse(thrown, exchange),
    );
  };
}

/** A Bearer challenge (RFC 6750 §3): an error code only when a token was given. */
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
