import { DomainError } from "../../../domain-error.ts";
import type { Target } from "../../target.ts";
import { readChallenge } from "../../oauth/challenge.ts";
import type { GrantedTokens } from "../../oauth/granted-tokens.ts";
import { TokenFailure, type TokenFailureKind } from "../../oauth/token-failure.ts";
import type { McpAnswer } from "./mcp-exchange.ts";
import { UpstreamFailure } from "../failures/upstream-failure.ts";

/** Tokens that are sent, and may be repeated by whoever was sent them. */
const MAX_SENT_TOKENS = 2;
/** Scopes as a server may name them (RFC 6749 §3.3), so many at most. */
const SCOPE = /^[\x20\x21\x23-\x5b\x5d-\x7e]{1,1000}$/;

/** What a connection that its owner authorised sends with each request: the token that is in force just then. */
export interface Bearer {
  /**
   * Sends a request with the token; where it is refused, once more with another one: what was refused was not carried out.
   * Throws UpstreamFailure, or the signal's reason.
   */
  send(signal: AbortSignal, request: (authorization: readonly string[]) => Promise<McpAnswer>): Promise<McpAnswer>;
  /** The header with the token that was last sent, if there is one: for what must not wait for another. */
  last(): readonly string[];
  /** The tokens that were sent of late, to be struck out of what is answered. */
  sent(): readonly string[];
}

/** The bearer of one connection towards one origin. `server` is its name in sentences. */
export function createBearer(tokens: GrantedTokens, target: Target, origin: string, server: string): Bearer {
  let sent: readonly string[] = [];

  function headerFor(token: string): readonly string[] {
    if (sent[0] !== token) sent = [token, ...sent].slice(0, MAX_SENT_TOKENS);
    return ["authorization", `Bearer ${token}`];
  }

  return {
    async send(signal, request) {
      try {
        const given = tokens.current(target, origin, signal);
        const token = typeof given === "string" ? given : await given;
        let answer = await request(headerFor(token));
        if (answer.status === 401) {
          answer = await request(headerFor(await tokens.renewed(target, origin, token, signal)));
        }
        const missing = answer.status === 403 ? await missingScope(answer.challenge) : undefined;
        if (missing === undefined) return answer;
        const owner = `A call needs more than what was allowed (${missing}). Authorise the connection again to allow it.`;
        await tokens.extend(target, missing, owner);
        throw new UpstreamFailure(
          "declined",
          `${server} refused the request (HTTP 403), because the authorization does not reach so far: it needs ${missing}. ` +
            "The owner of the connection is asked to authorise it for that; call again afterwards.",
        );
      } catch (error) {
        throw asUpstreamFailure(error);
      }
    },
    last: () => sent.slice(0, 1).flatMap(headerFor),
    sent: () => sent,
  };
}

/** The scopes that a server names as missing (RFC 6750 §3.1); undefined when that is not what it refuses for. */
async function missingScope(header: string | undefined): Promise<string | undefined> {
  const challenge = await readChallenge(header);
  const scope = challenge?.error === "insufficient_scope" ? challenge.scope?.trim() : undefined;
  return scope !== undefined && SCOPE.test(scope) ? scope : undefined;
}

/** Without a token nothing is sent. */
const KINDS: Readonly<Record<TokenFailureKind, UpstreamFailure["kind"]>> = {
  ended: "unauthorized",
  refused: "unauthorized",
  busy: "busy",
  down: "unreachable",
  other: "refused",
};

function asUpstreamFailure(error: unknown): unknown {
  if (error instanceof TokenFailure) {
    return new UpstreamFailure(KINDS[error.kind], error.message, { cause: error, retryAfterMs: error.retryAfterMs });
  }
  return error instanceof DomainError ? new UpstreamFailure("refused", error.message, { cause: error }) : error;
}
