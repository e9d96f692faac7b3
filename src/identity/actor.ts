import type { Principal } from "./principal.ts";

/** Where a request comes from, as far as it can be told. */
export interface Origin {
  /** The caller's address: the peer's, or behind a trusted proxy the last hop that it wrote. Empty when it is not known. */
  readonly address: string;
  /** What the caller's program calls itself, cut to `MAX_USER_AGENT`. Empty when it says nothing. */
  readonly userAgent: string;
}

/** A principal and where it asks from. For what is written down beside a change. */
export interface Caller extends Principal {
  readonly origin: Origin;
}

/** Who changes something: a caller with its account, the operator at the command line, or the service by itself. */
export interface Actor extends Origin {
  readonly kind: "account" | "operator" | "service";
  /** Undefined unless of kind `account`, and for a sign-in that named no account of ours. */
  readonly accountId: string | undefined;
  /** An OAuth client, `pat_…` for a personal access token, `session_…` for a person in a browser. */
  readonly clientId: string | undefined;
  /** The token's `jti`. */
  readonly tokenId: string | undefined;
}

/** Longer ones say nothing more. */
export const MAX_USER_AGENT = 200;

/** No address and no program: what happens inside the service or at the command line. */
const UNKNOWN_ORIGIN: Origin = { address: "", userAgent: "" };

/** Whoever may run commands beside the service's database. */
export const OPERATOR: Actor = {
  kind: "operator",
  accountId: undefined,
  clientId: undefined,
  tokenId: undefined,
  ...UNKNOWN_ORIGIN,
};

/** What the service does without being asked. */
export const SERVICE: Actor = { ...OPERATOR, kind: "service" };

/** The caller of an RPC as the actor of what it changes. */
export function toActor(caller: Caller): Actor {
  const { accountId, clientId, tokenId, origin } = caller;
  return { kind: "account", accountId, clientId, tokenId, address: origin.address, userAgent: origin.userAgent };
}

/** Where a request comes from, cut to what is kept: printable characters only. */
export function toOrigin(address: string, userAgent: string | undefined): Origin {
  return { address, userAgent: (userAgent ?? "").slice(0, MAX_USER_AGENT).replaceAll(/\p{Cc}/gu, "") };
}
