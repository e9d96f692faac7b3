import { isJsonObject, type JsonValue } from "../../../json.ts";
import { errorResult, type CallResult } from "../../tool.ts";
import { decode } from "./answer-content.ts";
import { arrayOf, objectOf, OpenApiError, stringOf } from "../model/document.ts";
import type { UpstreamAnswer } from "../../upstream-exchange.ts";
import type { Scrubber } from "../../scrub.ts";
import { clip } from "../../clip.ts";
import { adviceFor, faultIn } from "./upstream-error.ts";

/** How a vendor reports errors with status 200. Locations are JSON Pointers (RFC 6901). */
export interface ErrorAnswers {
  readonly pointer: string;
  readonly equals: JsonValue;
  /** Location of the error code. */
  readonly code: string;
  /** Locations of explanations. */
  readonly details: readonly string[];
  /** Error code → equivalent HTTP status; 400 for others. */
  readonly statuses: ReadonlyMap<string, number>;
}

export interface ErrorAnswer {
  readonly result: CallResult;
  /** The equivalent HTTP status. */
  readonly status: number;
}

/** Reads `error_answers` of a contract. Throws OpenApiError. */
export function errorAnswersOf(value: JsonValue | undefined): ErrorAnswers | undefined {
  if (value === undefined) return undefined;
  const { pointer, equals, code, details, statuses } = objectOf(value);
  const places = [pointer, code, ...arrayOf(details)];
  if (equals === undefined || !places.every((place) => stringOf(place)?.startsWith("/") === true))
    throw new OpenApiError('needs JSON Pointers "pointer" and "code", and "equals", in "error_answers"');
  return {
    pointer: stringOf(pointer) ?? "",
    equals,
    code: stringOf(code) ?? "",
    details: arrayOf(details).filter((place) => typeof place === "string"),
    statuses: new Map(Object.entries(objectOf(statuses)).map(([word, status]) => [word, Number(status)])),
  };
}

/** Returns undefined when the answer is a success. */
export function errorAnswer(
  title: string,
  plan: ErrorAnswers,
  answer: UpstreamAnswer,
  scrubber: Scrubber,
): ErrorAnswer | undefined {
  const body = parsed(answer);
  if (valueAt(body, plan.pointer) !== plan.equals) return undefined;
  const code = wordsOf(valueAt(body, plan.code));
  const details = plan.details.map((place) => wordsOf(valueAt(body, place))).filter((words) => words !== "");
  const said = [code, ...details].filter((words) => words !== "").join(": ");
  const status = plan.statuses.get(code) ?? 400;
  const advice = adviceFor(title, { ...answer, status });
  const message = `${title} answered ${answer.status} with an error: ${clip(said === "" ? "it does not say which" : said)}. ${advice}`;
  return { status, result: errorResult(scrubber.text(message), faultIn(status)) };
}

function parsed(answer: UpstreamAnswer): unknown {
  try {
    return JSON.parse(decode(answer.body, answer.headers["content-type"]));
  } catch {
    return undefined;
  }
}

function valueAt(value: unknown, pointer: string): unknown {
  let current = value;
  for (const step of pointer.slice(1).split("/")) {
    const key = step.replaceAll("~1", "/").replaceAll("~0", "~");
    if (Array.isArray(current)) current = current[Number(key)];
    else current = isJsonObject(current) && Object.hasOwn(current, key) ? current[key] : undefined;
  }
  return current;
}

function wordsOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(wordsOf).join("; ");
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}
