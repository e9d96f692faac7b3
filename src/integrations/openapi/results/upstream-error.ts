import { isJsonObject } from "../../../json.ts";
import { errorResult, type CallResult, type UpstreamFault } from "../../tool.ts";
import { decode } from "./answer-content.ts";
import { requestedWaitMs, effectiveStatus } from "./requested-wait.ts";
import type { UpstreamAnswer, ExchangeLimits, ExchangeFailure } from "../../upstream-exchange.ts";
import { isJsonType } from "../model/media-type.ts";
import type { Operation } from "../model/operation.ts";
import type { Scrubber } from "../../scrub.ts";
import { reasonFor } from "../../connection-error.ts";
import { clip } from "../../clip.ts";

/** Characters of an HTML page that are searched for a message. */
const MAX_MARKUP_LENGTH = 8_000;

/** Describes an error answer: status, the upstream's message and a remedy. */
export function refusal(
  title: string,
  answer: UpstreamAnswer,
  errorHeaders: readonly string[],
  scrubber: Scrubber,
): CallResult {
  const message = clip(scrubber.text(messageOf(answer, errorHeaders)));
  const quoted = message === "" ? "" : ` It says: ${/[.!?]$/.test(message) ? message : `${message}.`}`;
  const status = effectiveStatus(answer);
  const advice = adviceFor(title, { ...answer, status });
  return errorResult(`${title} answered ${answer.status}.${quoted} ${scrubber.text(advice)}`.trim(), faultIn(status));
}

/** Returns undefined when the call itself is at fault. */
export function faultIn(status: number): UpstreamFault | undefined {
  if (status === 401 || status === 403) return "refused_key";
  if (status === 429) return "busy";
  if (status >= 500) return "down";
  return status >= 300 && status < 400 ? "other" : undefined;
}

export function adviceFor(title: string, answer: UpstreamAnswer): string {
  const { status, headers } = answer;
  if (status >= 300 && status < 400) {
    const target = headers.location;
    return `That is a redirect${target === undefined ? "" : ` to ${clip(target)}`}; redirects are not followed, because the key may only be sent to the configured address.`;
  }
  if (status === 401)
    return `The connection's key was refused: it is wrong, expired or revoked. Its owner can replace it with a new api_key.`;
  if (status === 403)
    return `The connection's key is not allowed to do this. Ask for the permission in ${title}, or have the owner replace the key.`;
  if (status === 404) return "There is nothing there, or the key may not see it: check the ids in the arguments.";
  if (status === 429) {
    const waitMs = requestedWaitMs(answer);
    return waitMs === undefined
      ? "That is its rate limit: wait a minute, then try again."
      : `That is its rate limit: try again in ${Math.ceil(waitMs / 1_000)} seconds.`;
  }
  if (status === 409 || status === 412) return "It conflicts with what is there now: read that again before you retry.";
  if (status >= 500) return `The fault is on its side; try again later.`;
  return "Correct the arguments and try again.";
}

function messageOf(answer: UpstreamAnswer, errorHeaders: readonly string[]): string {
  for (const name of errorHeaders) {
    const value = answer.headers[name];
    if (value !== undefined && value !== "") return value;
  }
  const contentType = answer.headers["content-type"];
  const text = decode(answer.body.subarray(0, 64 * 1024), contentType).trim();
  if (isJsonType(contentType ?? "") || /^[[{]/.test(text)) {
    try {
      const value: unknown = JSON.parse(text);
      return wordsIn(value) ?? text;
    } catch {
      return text;
    }
  }
  return text
    .slice(0, MAX_MARKUP_LENGTH)
    .replaceAll(/<(script|style)[\s\S]*?<\/\1>/gi, " ")
    .replaceAll(/<[^>]{0,2000}>/g, " ")
    .trim();
}

const KEYS = [
  "message",
  "error_description",
  "detail",
  "error",
  "errors",
  "errorMessages",
  "title",
  "description",
  "fault",
];

/** Finds the message in a vendor's error object. */
function wordsIn(value: unknown, depth = 0): string | undefined {
  if (typeof value === "string") return value.trim() === "" ? undefined : value;
  if (depth > 4) return undefined;
  if (Array.isArray(value)) {
    const words = value.slice(0, 5).flatMap((item) => wordsIn(item, depth + 1) ?? []);
    return words.length === 0 ? undefined : words.join("; ");
  }
  if (!isJsonObject(value)) return undefined;
  for (const key of KEYS) {
    const words = wordsIn(value[key], depth + 1);
    if (words !== undefined) return words;
  }
  return undefined;
}

export function failureResult(
  title: string,
  failure: ExchangeFailure,
  operation: Operation,
  limits: ExchangeLimits,
  scrubber: Scrubber,
): CallResult {
  if (failure.kind === "too_large")
    return errorResult(
      `The answer of ${title} is larger than ${Math.round(limits.maxBytes / 1024 / 1024)} MiB and was rejected. ${howToNarrow(operation)}`,
      "other",
    );
  if (failure.kind === "timeout")
    return errorResult(
      `${title} did not answer within ${Math.round((limits.timeoutMs ?? 0) / 1_000)} seconds. ${
        operation.tool.readOnly
          ? howToNarrow(operation)
          : "Whether the change was made is not known: look before you retry."
      }`,
      "down",
    );
  // Messages of the outbound guard are public sentences.
  const isRefused = failure.error.name === "OutboundRefused";
  const reason = isRefused ? failure.error.message : reasonFor(failure.error);
  const warning = isRefused ? "" : outcomeWarning(operation, failure.afterStart);
  const sentence = scrubber.text(`${title} could not be reached: ${reason} ${warning}`.trim());
  return errorResult(sentence, isRefused ? "other" : "down");
}

const NARROWING =
  /(^|_)(limit|page|per_?page|page_?size|fields|filter|since|start|end|offset|first|max|count|select|status|ids?)$/i;

function howToNarrow(operation: Operation): string {
  const properties = operation.tool.inputSchema.properties;
  const names = isJsonObject(properties) ? Object.keys(properties).filter((name) => NARROWING.test(name)) : [];
  return names.length === 0
    ? "Ask for less, or for one thing at a time."
    : `Ask for less with ${names.map((name) => `"${name}"`).join(", ")}.`;
}

function outcomeWarning(operation: Operation, afterStart: boolean): string {
  if (operation.tool.readOnly) return "Try again later.";
  return afterStart ? "Whether the change was made is not known: look before you retry." : "";
}
