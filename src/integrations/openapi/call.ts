import { setTimeout as sleep } from "node:timers/promises";
import type { Dispatcher } from "undici";
import type { JsonObject } from "../../json.ts";
import { exchange, type Answer, type ExchangeLimits, type Failure, type Outcome } from "../exchange.ts";
import type { Target } from "../integration.ts";
import { createScrubber, type Scrubber } from "../scrub.ts";
import { errorResult } from "../tool.ts";
import { contentOf } from "./answer-content.ts";
import type { CallContext, CallOutcome } from "./call-context.ts";
import { callWithToken } from "./call-with-token.ts";
import { decompress } from "./decompress.ts";
import { errorAnswer } from "./error-answers.ts";
import type { Operation } from "./operation.ts";
import { buildRequest, type OutgoingRequest } from "./request.ts";
import { serverAddress } from "./server-address.ts";
import { unsendable } from "./unsendable.ts";
import { codeOf, failureResult, refusal } from "./upstream-error.ts";

/** DESIGN §8 «upstream answer». */
const DEFAULT_LIMITS: ExchangeLimits = { maxBytes: 5 * 1024 * 1024, timeoutMs: 30_000 };
/** Grown by a random share, so that many calls do not come back together. */
const RETRY_DELAY_MS = 150;
const RETRY_STATUSES = new Set([502, 503, 504]);
const RETRY_CODES = new Set(["ECONNRESET", "EPIPE", "UND_ERR_SOCKET"]);

/** Calls an operation with arguments that fit its schema. Throws only when `signal` aborts. */
export async function callOperation(
  context: CallContext,
  operation: Operation,
  args: JsonObject,
  target: Target,
  signal: AbortSignal,
): Promise<CallOutcome> {
  const plan = operation.credentials.find((each) => each.kind === "client_credentials");
  if (plan === undefined) return send(context, operation, args, target.configuration, signal);
  return callWithToken(context, plan, target, signal, (token) =>
    send(context, operation, args, target.configuration, signal, token),
  );
}

async function send(
  context: CallContext,
  operation: Operation,
  args: JsonObject,
  configuration: JsonObject,
  signal: AbortSignal,
  token?: string,
): Promise<CallOutcome> {
  const request = prepare(context, operation, args, configuration, token);
  if ("result" in request) return request;
  const limits = context.limits ?? DEFAULT_LIMITS;
  const scrubber = createScrubber(configuration, context.secretProperties, request.secrets);
  const outcome = await exchangeWithRetry(context.dispatcher, request, limits, operation, signal);
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

function outcomeOf(context: CallContext, operation: Operation, answer: Answer, scrubber: Scrubber): CallOutcome {
  const { title, errorAnswers } = context;
  const { status } = answer;
  if (status < 200 || status >= 300) return { status, result: refusal(title, answer, context.errorHeaders, scrubber) };
  const failure = errorAnswers === undefined ? undefined : errorAnswer(title, errorAnswers, answer, scrubber);
  if (failure !== undefined) return failure;
  const { tool } = operation;
  const place = `${context.serverType}/${tool.name}`;
  const result = contentOf({ ...answer, title, place, hasOutputSchema: tool.outputSchema !== undefined }, scrubber);
  return { status, result };
}

function prepare(
  context: CallContext,
  operation: Operation,
  args: JsonObject,
  configuration: JsonObject,
  token: string | undefined,
): OutgoingRequest | CallOutcome {
  try {
    const address = serverAddress(operation.server, configuration, context.baseUrl);
    return buildRequest(operation, args, address, configuration, token);
  } catch (error) {
    const outcome = unsendable(error);
    if (outcome === undefined) throw error;
    return outcome;
  }
}

/** Reads are repeated once after what a moment's wait may mend; changes never are. */
async function exchangeWithRetry(
  dispatcher: Dispatcher,
  request: OutgoingRequest,
  limits: ExchangeLimits,
  operation: Operation,
  signal: AbortSignal,
): Promise<Outcome> {
  const startedMs = performance.now();
  const first = await exchange(dispatcher, request, limits, signal);
  if (!operation.tool.readOnly || !isPassing(first)) return first;
  const leftMs = limits.timeoutMs - (performance.now() - startedMs) - RETRY_DELAY_MS;
  if (leftMs <= 0) return first;
  await sleep(RETRY_DELAY_MS * (1 + Math.random()), undefined, { signal });
  return exchange(dispatcher, request, { ...limits, timeoutMs: leftMs }, signal);
}

function isPassing(outcome: Outcome): boolean {
  // A server that says when to come back does not want to be asked at once.
  if ("answer" in outcome)
    return RETRY_STATUSES.has(outcome.answer.status) && outcome.answer.headers["retry-after"] === undefined;
  return outcome.failure.kind === "broken" && RETRY_CODES.has(codeOf(outcome.failure.error) ?? "");
}

function failed(
  context: CallContext,
  failure: Failure,
  operation: Operation,
  limits: ExchangeLimits,
  scrubber: Scrubber,
): CallOutcome {
  return { status: undefined, result: failureResult(context.title, failure, operation, limits, scrubber) };
}
