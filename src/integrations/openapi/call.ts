import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "../../json.ts";
import type { UpstreamAnswer, ExchangeLimits, ExchangeFailure } from "../upstream-exchange.ts";
import type { Target } from "../target.ts";
import { createScrubber, type Scrubber } from "../scrub.ts";
import { rateLimitedResult, MAX_WAIT_MS, NO_RATE_LIMITS } from "../upstream-rate-limiter.ts";
import { errorResult } from "../tool.ts";
import { contentOf } from "./results/answer-content.ts";
import { effectiveStatus } from "./results/requested-wait.ts";
import type { OpenApiCallContext, UpstreamCallOutcome } from "./requests/call-context.ts";
import { callWithToken } from "./security/call-with-token.ts";
import { decompress } from "../decompress.ts";
import { errorAnswer } from "./results/error-answers.ts";
import type { Operation } from "./model/operation.ts";
import { buildRequest, type OutgoingRequest } from "./requests/request.ts";
import { sendRequest } from "./requests/send-request.ts";
import { serverAddress } from "./requests/server-address.ts";
import { unsendableResult } from "./requests/unsendable.ts";
import { failureResult, refusal } from "./results/upstream-error.ts";

/** DESIGN §8 «upstream answer»; the caller of a tool limits how long its call may take. */
const CALL_LIMITS: ExchangeLimits = { maxBytes: 5 * 1024 * 1024, timeoutMs: undefined };
/** Limits for calls that verify a key. */
export const VERIFICATION_LIMITS: ExchangeLimits = { ...CALL_LIMITS, timeoutMs: 30_000 };

/** Calls an operation with validated arguments. Throws only the signal's reason. */
export async function callOperation(
  context: OpenApiCallContext,
  operation: Operation,
  args: JsonObject,
  target: Target,
  signal: AbortSignal,
): Promise<UpstreamCallOutcome> {
  const waitMs = context.rateLimiter.reserve(target, operation.rateLimits ?? NO_RATE_LIMITS, args);
  if (waitMs > MAX_WAIT_MS) return { status: undefined, result: rateLimitedResult(context.title, waitMs) };
  if (waitMs > 0) await sleep(waitMs, undefined, { signal });
  const plan = operation.credentials.find(({ kind }) => kind === "client_credentials" || kind === "owner");
  if (plan?.kind !== "client_credentials" && plan?.kind !== "owner")
    return send(context, operation, args, target, signal);
  const asked = { context, plan, server: operation.server, target, signal };
  return callWithToken(asked, (token) => send(context, operation, args, target, signal, token));
}

async function send(
  context: OpenApiCallContext,
  operation: Operation,
  args: JsonObject,
  target: Target,
  signal: AbortSignal,
  token?: string,
): Promise<UpstreamCallOutcome> {
  const { configuration } = target;
  const request = prepare(context, operation, args, configuration, token);
  if ("result" in request) return request;
  const limits = context.limits ?? CALL_LIMITS;
  const scrubber = createScrubber(configuration, context.secretProperties, request.secrets);
  const outcome = await sendRequest(context, request, operation.tool, target, limits, signal);
  if ("failure" in outcome) return failed(context, outcome.failure, operation, limits, scrubber);
  const { answer } = outcome;
  const encoding = answer.headers["content-encoding"];
  const body = encoding === undefined ? answer.body : await decompress(answer.body, encoding, limits.maxBytes);
  if (body === "too_large") return failed(context, { kind: "too_large" }, operation, limits, scrubber);
  if (body === "not_readable")
    return {
      status: answer.status,
      result: errorResult(`${context.title} answered ${answer.status} in a compression that cannot be read.`, "other"),
    };
  return outcomeOf(context, operation, { ...answer, body }, scrubber);
}

function outcomeOf(
  context: OpenApiCallContext,
  operation: Operation,
  answer: UpstreamAnswer,
  scrubber: Scrubber,
): UpstreamCallOutcome {
  const { title, errorAnswers } = context;
  const status = effectiveStatus(answer);
  if (status < 200 || status >= 300) return { status, result: refusal(title, answer, context.errorHeaders, scrubber) };
  const failure = errorAnswers === undefined ? undefined : errorAnswer(title, errorAnswers, answer, scrubber);
  if (failure !== undefined) return failure;
  const { tool } = operation;
  const place = `${context.serverType}/${tool.name}`;
  const result = contentOf({ ...answer, title, place, hasOutputSchema: tool.outputSchema !== undefined }, scrubber);
  return { status, result };
}

function prepare(
  context: OpenApiCallContext,
  operation: Operation,
  args: JsonObject,
  configuration: JsonObject,
  token: string | undefined,
): OutgoingRequest | UpstreamCallOutcome {
  try {
    const address = serverAddress(operation.server, configuration, context.baseUrl);
    return buildRequest(operation, args, address, configuration, token);
  } catch (error) {
    const outcome = unsendableResult(error);
    if (outcome === undefined) throw error;
    return outcome;
  }
}

function failed(
  context: OpenApiCallContext,
  failure: ExchangeFailure,
  operation: Operation,
  limits: ExchangeLimits,
  scrubber: Scrubber,
): UpstreamCallOutcome {
  return { status: undefined, result: failureResult(context.title, failure, operation, limits, scrubber) };
}
