import type { JsonObject } from "../../../json.ts";
import type { Target } from "../../target.ts";
import type { AccessTokenSource } from "../../oauth/access-tokens.ts";
import { clientCredentialsSource } from "../../oauth/client-credentials.ts";
import { TokenFailure, type TokenFailureKind } from "../../oauth/token-failure.ts";
import { errorResult, type UpstreamFault } from "../../tool.ts";
import type { OpenApiCallContext, UpstreamCallOutcome } from "../requests/call-context.ts";
import { filled } from "../requests/credential.ts";
import type { ClientCredentialsPlan, OwnerPlan, ServerPlan } from "../model/operation.ts";
import { serverAddress, tokenAddress } from "../requests/server-address.ts";
import { unsendableResult } from "../requests/unsendable.ts";

export interface TokenNeed {
  readonly context: OpenApiCallContext;
  readonly plan: ClientCredentialsPlan | OwnerPlan;
  /** The server of the call. */
  readonly server: ServerPlan;
  readonly target: Target;
  readonly signal: AbortSignal;
}

/**
 * Makes a call with a token. After a 401, which means that the call was not executed, replaces the token and repeats
 * the call once. Throws only the signal's reason.
 */
export async function callWithToken(
  need: TokenNeed,
  call: (token: string) => Promise<UpstreamCallOutcome>,
): Promise<UpstreamCallOutcome> {
  const { context, target } = need;
  try {
    const supply = supplyOf(need);
    const token = await supply.current();
    const outcome = await call(token);
    if (outcome.status !== 401) return outcome;
    return await call(await supply.renewed(token));
  } catch (error) {
    if (error instanceof TokenFailure) {
      if (error.retryAfterMs !== undefined) context.rateLimiter.pause(target, error.retryAfterMs);
      return tokenFailureOutcome(error);
    }
    const outcome = unsendableResult(error);
    if (outcome === undefined) throw error;
    return outcome;
  }
}

interface TokenSupply {
  current(): string | Promise<string>;
  renewed(refused: string): Promise<string>;
}

function supplyOf({ context, plan, server, target, signal }: TokenNeed): TokenSupply {
  if (plan.kind === "client_credentials") {
    const { tokens } = context;
    const source = sourceOf(context, plan, target.configuration);
    return {
      current: () => tokens.current(target, source, signal),
      renewed: (refused) => tokens.renewed(target, source, refused, signal),
    };
  }
  const { ownerTokens: tokens } = context;
  if (tokens === undefined)
    throw new TokenFailure(
      "other",
      `This installation is no longer registered at ${context.title}: set an api_key, or ask its operator.`,
    );
  const { origin } = serverAddress(server, target.configuration, context.baseUrl);
  return {
    current: () => tokens.current(target, origin, signal),
    renewed: (refused) => tokens.renewed(target, origin, refused, signal),
  };
}

function sourceOf(
  context: OpenApiCallContext,
  plan: ClientCredentialsPlan,
  configuration: JsonObject,
): AccessTokenSource {
  const client = {
    title: context.title,
    tokenUrl: tokenAddress(plan.server, configuration, context.baseUrl),
    clientId: filled(plan.clientId, configuration),
    clientSecret: filled(plan.clientSecret, configuration),
    scope: plan.scope === undefined ? undefined : filled(plan.scope, configuration),
    authentication: plan.authentication,
  };
  return clientCredentialsSource(client, context.dispatcher);
}

/** A rejected client counts as a rejected key in verifications. */
const MEANINGS: Readonly<Record<TokenFailureKind, readonly [UpstreamFault, number | undefined]>> = {
  ended: ["refused_key", 401],
  refused: ["refused_key", 401],
  busy: ["busy", 429],
  down: ["down", undefined],
  other: ["other", undefined],
};

function tokenFailureOutcome({ kind, message }: TokenFailure): UpstreamCallOutcome {
  const [fault, status] = MEANINGS[kind];
  return { status, result: errorResult(message, fault) };
}
