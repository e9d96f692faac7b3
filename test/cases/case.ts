import { readdirSync, readFileSync } from "node:fs";
import { parse } from "yaml";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/json.ts";
import { PROTOCOL_NAMES, type ProtocolName } from "../support/outcome.ts";

/** An expected error: its kind and its message, exact or as `/pattern/`. */
export interface ExpectedError {
  readonly kind: ErrorKind;
  readonly detail: string;
  /** The reason code. Undefined accepts any known reason. */
  readonly reason: string | undefined;
}

/** The token of a call: none, or one with these scopes, optionally bound to a connection. */
export type TokenWish = "none" | { readonly scope: string | undefined; readonly bound: JsonValue | undefined };

/** One call and its expected result. Without `ok`, `has` and `error` it must succeed. */
export interface Step {
  readonly call: string;
  readonly input: JsonObject;
  readonly headers: JsonObject;
  readonly token: TokenWish;
  /** The complete response. */
  readonly ok: JsonValue | undefined;
  /** A part of the response. */
  readonly has: JsonValue | undefined;
  readonly error: ExpectedError | undefined;
  /** Repeats the call until the response contains this. */
  readonly until: JsonValue | undefined;
  /** Variables to set from the response: by dotted path, or from a header over REST (`header etag`). */
  readonly save: JsonObject;
  /** The HTTP status of success over REST. */
  readonly status: number;
  /** Response headers over REST. */
  readonly restHeaders: JsonObject;
}

/** A case: the setup steps, the tested call, and the checks after it. */
export interface Case {
  readonly title: string;
  readonly steps: readonly Step[];
  readonly protocols: readonly ProtocolName[];
}

/** The HTTP status over REST and the code over other protocols for each kind of error (DESIGN §6 «Errors»). */
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

export type ErrorKind = keyof typeof ERRORS;

export interface CaseFile {
  readonly operation: string;
  readonly cases: readonly Case[];
}

/** What each role may do; `test/access/` tests it. */
export const ACCESS_TABLE = "access.yaml";

/** Reads all case files. Throws for an unknown key, so that no check is skipped silently. */
export function readCaseFiles(): readonly CaseFile[] {
  const folder = new URL("./", import.meta.url);
  return readdirSync(folder)
    .filter((name) => name.endsWith(".yaml") && name !== ACCESS_TABLE)
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
  if (known === undefined || typeof detail !== "string")
    throw new Error(`"${title}" expects an unknown kind of error or has no detail`);
  return { kind: known, detail, reason: typeof reason === "string" ? reason : undefined };
}

function only(value: unknown, keys: readonly string[], where: string): JsonObject {
  const found = object(value as JsonValue);
  const unknownKey = Object.keys(found).find((key) => !keys.includes(key));
  if (unknownKey !== undefined) throw new Error(`"${where}" has the unknown key ${unknownKey}`);
  return found;
}

function object(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

function list(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}
