import type { JsonObject } from "../../json.ts";
import type { Target } from "../integration.ts";
import type { TokenSource } from "../oauth/access-tokens.ts";
import { clientCredentialsSource } from "../oauth/client-credentials.ts";
import { TokenFailure, type TokenFailureKind } from "../oauth/token-failure.ts";
import { errorResult, type UpstreamFault } from "../tool.ts";
import type { CallContext, CallOutcome } from "./call-context.ts";
import { filled } from "./credential.ts";
import type { ClientCredentialsPlan } from "./operation.ts";
import { tokenAddress } from "./server-address.ts";
import { unsendable } from "./unsendable.ts";

/**
 * Makes a call with a token that is got first where there is none yet. A token that is refused is replaced, and the call,
 * which was not carried out, made once more. Throws only when `signal` aborts.
 */
export async function callWithToken(
  context: CallContext,
  plan: ClientCredentialsPlan,
  target: Target,
  signal: AbortSignal,
  call: (token: string) => Promise<CallOutcome>,
): Promise<CallOutcome> {
  const { tokens } = context;
  try {
    const source = sourceOf(context, plan, target.configuration);
    const token = await tokens.current(target, source, signal);
    const outcome = await call(token);
    if (outcome.status !== 401) return outcome;
    return await call(await tokens.renewed(target, source, token, signal));
  } catch (error) {
    if (error instanceof TokenFailure) {
      if (error.retryAfterMs !== undefined) context.pace.hold(target, error.retryAfterMs);
      return withoutToken(error);
    }
    const outcome = unsendable(error);
    if (outcome === undefined) throw error;
    return outcome;
  }
}

function sourceOf(context: CallContext, plan: ClientCredentialsPlan, configuration: JsonObject): TokenSource {
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

/** A refused client is a refused key: the status says so to the verification. */
const MEANINGS: Readonly<Record<TokenFailureKind, readonly [UpstreamFault, number | undefined]>> = {
  ended: ["refused_key", 401],
  refused: ["refused_key", 401],
  busy: ["busy", 429],
  down: ["down", undefined],
  other: ["other", undefined],
};

function withoutToken({ kind, message }: TokenFailure): CallOutcome {
  const [fault, status] = MEANINGS[kind];
  return { status, result: errorResult(message, fault) };
}
