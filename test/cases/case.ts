import { readdirSync, readFileSync } from "node:fs";
import { parse } from "yaml";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/json.ts";
import { PROTOCOL_NAMES, type ProtocolName } from "../support/outcome.ts";

/** A failure that a case expects: its kind and the sentence, word for word or as `/pattern/`. */
export interface ExpectedError {
  readonly kind: ErrorKind;
  readonly detail: string;
  /** What programs tell it by. Undefined: any of the closed list. */
  readonly reason: string | undefined;
}

/** Which token a call carries: none, or one with these scopes, bound to a connection where `bound` names one. */
export type TokenWish = "none" | { readonly scope: string | undefined; readonly bound: JsonValue | undefined };

/** One call and what must come of it. Without `ok`, `has` and `error` it must succeed. */
export interface Step {
  readonly call: string;
  readonly input: JsonObject;
  readonly headers: JsonObject;
  readonly token: TokenWish;
  /** The whole answer. */
  readonly ok: JsonValue | undefined;
  /** Part of the answer. */
  readonly has: JsonValue | undefined;
  readonly error: ExpectedError | undefined;
  /** Repeats the call until the answer has this. */
  readonly until: JsonValue | undefined;
  /** Variables to set from the answer: by dotted path, or from a header over REST (`header etag`). */
  readonly save: JsonObject;
  /** The HTTP status of success over REST. */
  readonly status: number;
  /** Headers of the answer over REST. */
  readonly restHeaders: JsonObject;
}

/** A case: steps that lead to the call that it is about, that call, and what must hold afterwards. */
export interface Case {
  readonly title: string;
  readonly steps: readonly Step[];
  readonly protocols: readonly ProtocolName[];
}

/** How each kind of failure looks: the HTTP status on REST, the code elsewhere (DESIGN §6 «Errors»). */
export const ERRORS = {
  invalid: [400, "invalid_argument"],
  unauthenticated: [401, "unauthenticated"],
  forbidden: [403, "permission_denied"],
  not_found: [404, "not_found"],
  conflict: [409, "aborted"],
  stale: [412, "failed_precondition"],
  too_large: [413, "resource_exhausted"],
  unsupported: [415, "invalid_argument"],
  exhausted: [429, "resource_exhausted"],
} as const;

/** A kind of failure. */
export type ErrorKind = keyof typeof ERRORS;

/** The cases of one operation. */
export interface CaseFile {
  readonly operation: string;
  readonly cases: readonly Case[];
}

/** Reads every file of cases in the folder. Fails for a key that means nothing: a check that is not made must not look like one. */
export function readCaseFiles(): readonly CaseFile[] {
  const folder = new URL("./", import.meta.url);
  return readdirSync(folder)
    .filter((name) => name.endsWith(".yaml"))
    .sort()
    .map((name) => {
      const file = only(parse(readFileSync(new URL(name, folder), "utf8")), ["operation", "cases"], name);
      const operation = String(file["operation"]);
      return { operation, cases: list(file["cases"]).map((each) => readCase(each, operation)) };
    });
}

const STEP_KEYS = [
  "call",
  "input",
  "headers",
  "token",
  "ok",
  "has",
  "error",
  "until",
  "save",
  "status",
  "rest_headers",
];

function readCase(value: JsonValue, operation: string): Case {
  const title = isJsonObject(value) ? String(value["title"]) : "";
  const {
    setup,
    after,
    only: protocols,
    ...rest
  } = only(value, [...STEP_KEYS, "title", "setup", "after", "only"], title);
  const { title: _, ...main } = rest;
  return {
    title,
    steps: [...list(setup), { call: operation, ...main }, ...list(after)].map((step) => readStep(step, title)),
    protocols:
      protocols === undefined ? PROTOCOL_NAMES : PROTOCOL_NAMES.filter((name) => list(protocols).includes(name)),
  };
}

function readStep(value: JsonValue, title: string): Step {
  const step = only(value, STEP_KEYS, title);
  return {
    call: String(step["call"]),
    input: object(step["input"]),
    headers: object(step["headers"]),
    token: readToken(step["token"]),
    ok: step["ok"],
    has: step["has"],
    error: step["error"] === undefined ? undefined : readError(object(step["error"]), title),
    until: step["until"],
    save: object(step["save"]),
    status: typeof step["status"] === "number" ? step["status"] : 200,
    restHeaders: object(step["rest_headers"]),
  };
}

function readToken(value: JsonValue | undefined): TokenWish {
  if (value === "none") return "none";
  if (typeof value === "string") return { scope: value, bound: undefined };
  const { scope, bound } = object(value);
  return { scope: typeof scope === "string" ? scope : undefined, bound };
}

function readError(error: JsonObject, title: string): ExpectedError {
  const { kind, detail, reason } = error;
  const known = Object.keys(ERRORS).find((each): each is ErrorKind => each === kind);
  if (known === undefined || typeof detail !== "string") throw new Error(`"${title}" expects an error that is none`);
  return { kind: known, detail, reason: typeof reason === "string" ? reason : undefined };
}

function only(value: unknown, keys: readonly string[], where: string): JsonObject {
  const found = object(value as JsonValue);
  const stranger = Object.keys(found).find((key) => !keys.includes(key));
  if (stranger !== undefined) throw new Error(`"${where}" has the key ${stranger}, which means nothing`);
  return found;
}

function object(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

function list(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}
