import type { Dispatcher } from "undici";
import type { ExchangeLimits } from "../../upstream-exchange.ts";
import type { AccessTokens } from "../../oauth/access-tokens.ts";
import type { GrantedTokens } from "../../oauth/granted-tokens.ts";
import type { UpstreamRateLimiter } from "../../upstream-rate-limiter.ts";
import type { CallResult } from "../../tool.ts";
import type { ErrorAnswers } from "../results/error-answers.ts";

/** The tokens that owners' logins brought, or the operator's client got, as far as calls need them. */
export type OwnerTokens = Pick<GrantedTokens, "current" | "renewed" | "forget">;

/** What every call of an integration shares. */
export interface OpenApiCallContext {
  readonly dispatcher: Dispatcher;
  readonly serverType: string;
  readonly title: string;
  readonly secretProperties: readonly string[];
  /** Headers in which the upstream explains its refusals. */
  readonly errorHeaders: readonly string[];
  /** How it says in an answer with a good status that the call failed. */
  readonly errorAnswers?: ErrorAnswers | undefined;
  /** An operator's stand-in for the server's address. */
  readonly baseUrl: string | undefined;
  readonly tokens: AccessTokens;
  /** Where there is a way beside the key. */
  readonly ownerTokens?: OwnerTokens | undefined;
  readonly rateLimiter: UpstreamRateLimiter;
  /** How long to leave it alone after a 429 that does not say so, in milliseconds. */
  readonly defaultWaitMs?: number | undefined;
  readonly limits?: ExchangeLimits;
}

/** How a call ended, before it is put into words: for verification, which needs the status. */
export interface UpstreamCallOutcome {
  readonly result: CallResult;
  /** The upstream's status, or the one that its answer amounts to; undefined when no answer came. */
  readonly status: number | undefined;
}
