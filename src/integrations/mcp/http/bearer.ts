import { DomainError } from "../../../domain-error.ts";
import type { Target } from "../../target.ts";
import { readChallenge } from "../../oauth/challenge.ts";
import type { GrantedTokens } from "../../oauth/granted-tokens.ts";
import { TokenFailure, type TokenFailureKind } from "../../oauth/token-failure.ts";
import type { McpAnswer } from "./mcp-exchange.ts";
import { UpstreamFailure } from "../failures/upstream-failure.ts";

/** Recently sent tokens that answers may echo. */
const MAX_SENT_TOKENS = 2;
/** A list of scopes as in RFC 6749 §3.3, with a length limit. */
const SCOPE = /^[\x20\x21\x23-\x5b\x5d-\x7e]{1,1000}$/;

/** Sends the current token of an owner's authorization with each request. */
export interface Bearer {
  /**
   * Sends a request; after a 401, which means that it was not executed, once more with a renewed token. Throws
   * UpstreamFailure, or the signal's reason.
   */
  send(signal: AbortSignal, request: (authorization: readonly string[]) => Promise<McpAnswer>): Promise<McpAnswer>;
  /** The header with the last sent token; never waits for a renewal. */
  last(): readonly string[];
  /** Recently sent tokens, to redact from answers. */
  sent(): readonly string[];
}

/** `server` is the server's name in messages. */
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
        const owner = `A call needs more than what was allowed (${missing}). Authorize the connection again to allow it.`;
        await tokens.extend(target, missing, owner);
        throw new UpstreamFailure(
          "declined",
          `${server} refused the request (HTTP 403), because the authorization lacks a scope: it needs ${missing}. ` +
            "The owner of the connection is asked to authorize it for that; call again afterwards.",
        );
      } catch (error) {
        throw asUpstreamFailure(error);
      }
    },
    last: () => sent.slice(0, 1).flatMap(headerFor),
    sent: () => sent,
  };
}

/** Returns the scopes that an `insufficient_scope` challenge names (RFC 6750 §3.1). */
async function missingScope(header: string | undefined): Promise<string | undefined> {
  const challenge = await readChallenge(header);
  const scope = challenge?.error === "insufficient_scope" ? challenge.scope?.trim() : undefined;
  return scope !== undefined && SCOPE.test(scope) ? scope : undefined;
}

/** Nothing is sent without a token. */
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
