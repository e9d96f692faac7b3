import type { Principal } from "./principal.ts";

export interface Origin {
  /** The IP address of the peer, or behind a trusted proxy the last hop that the proxy added. Empty if unknown. */
  readonly address: string;
  /** The `User-Agent` header, cut to `MAX_USER_AGENT`. Empty if there is none. */
  readonly userAgent: string;
}

/** A principal with the origin of its request, for the audit log. */
export interface Caller extends Principal {
  readonly origin: Origin;
}

/** Who made a change: an account's caller, the operator at the command line, or the service itself. */
export interface Actor extends Origin {
  readonly kind: "account" | "operator" | "service";
  /** A person's account. Undefined for other kinds, and for a login that matches no account. */
  readonly accountId: string | undefined;
  /** An OAuth client, `pat_…` for a personal access token, `session_…` for a browser login. */
  readonly clientId: string | undefined;
  /** The token's `jti`. */
  readonly tokenId: string | undefined;
}

const MAX_USER_AGENT = 200;

const UNKNOWN_ORIGIN: Origin = { address: "", userAgent: "" };

export const OPERATOR: Actor = {
  kind: "operator",
  accountId: undefined,
  clientId: undefined,
  tokenId: undefined,
  ...UNKNOWN_ORIGIN,
};

export const SERVICE: Actor = { ...OPERATOR, kind: "service" };

export function toActor(caller: Caller): Actor {
  const { clientId, tokenId, origin } = caller;
  // In an organization the log names the person who acts.
  const accountId = caller.memberId ?? caller.accountId;
  return { kind: "account", accountId, clientId, tokenId, address: origin.address, userAgent: origin.userAgent };
}

/** Cuts the user agent and removes control characters. */
export function toOrigin(address: string, userAgent: string | undefined): Origin {
  return { address, userAgent: (userAgent ?? "").slice(0, MAX_USER_AGENT).replaceAll(/\p{Cc}/gu, "") };
}
