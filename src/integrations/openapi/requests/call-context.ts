import type { Dispatcher } from "undici";
import type { ExchangeLimits } from "../../upstream-exchange.ts";
import type { AccessTokens } from "../../oauth/access-tokens.ts";
import type { GrantedTokens } from "../../oauth/granted-tokens.ts";
import type { UpstreamRateLimiter } from "../../upstream-rate-limiter.ts";
import type { CallResult } from "../../tool.ts";
import type { ErrorAnswers } from "../results/error-answers.ts";

/** Tokens of owner logins or of the operator's client. */
export type OwnerTokens = Pick<GrantedTokens, "current" | "renewed" | "forget">;

/** Shared by all calls of an integration. */
export interface OpenApiCallContext {
  readonly dispatcher: Dispatcher;
  readonly serverType: string;
  readonly title: string;
  readonly secretProperties: readonly string[];
  /** Headers in which the upstream explains errors. */
  readonly errorHeaders: readonly string[];
  /** How the upstream reports errors with a 2xx status. */
  readonly errorAnswers?: ErrorAnswers | undefined;
  /** Replaces the server's address, for test servers. */
  readonly baseUrl: string | undefined;
  readonly tokens: AccessTokens;
  readonly ownerTokens?: OwnerTokens | undefined;
  readonly rateLimiter: UpstreamRateLimiter;
  /** Milliseconds to pause after a 429 without a stated wait. */
  readonly defaultWaitMs?: number | undefined;
  readonly limits?: ExchangeLimits;
}

/** The result and its status, which verification needs. */
export interface UpstreamCallOutcome {
  readonly result: CallResult;
  /** The effective HTTP status; undefined without an answer. */
  readonly status: number | undefined;
}
