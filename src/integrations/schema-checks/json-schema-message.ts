import type { ErrorObject } from "ajv";
import { isJsonObject } from "../../json.ts";
import { nearestName } from "../nearest-name.ts";

/** Maximum number of faults per message. */
const MAX_FAULTS = 4;
/** Maximum number of allowed values or known names per message. */
const MAX_LISTED = 30;

/**
 * Describes Ajv's errors in sentences that a model can act on. Quotes names and the schema, never the rejected value,
 * which may be a secret.
 */
export function describeErrors(errors: readonly ErrorObject[]): string {
  // After a failed `anyOf` Ajv lists the faults of every branch. The deepest branch is probably the intended one.
  const faults = errors.filter(({ keyword }) => keyword !== "anyOf" && keyword !== "oneOf" && keyword !== "if");
  const considered = faults.length > 0 ? faults : errors;
  const deepest = considered.reduce((most, fault) => Math.max(most, depth(fault)), 0);
  const sentences = new Set<string>();
  for (const fault of considered) {
    if (depth(fault) === deepest) sentences.add(describe(fault));
    if (sentences.size === MAX_FAULTS) break;
  }
  const text = [...sentences].join(" ");
  return sentences.size > 1 ? `Correct one of these: ${text}` : text;
}

function depth({ instancePath }: ErrorObject): number {
  return instancePath.split("/").length;
}

function describe(error: ErrorObject): string {
  const subject = subjectOf(error.instancePath);
  const params: Record<string, unknown> = error.params;
  switch (error.keyword) {
    case "required":
      return missing(error, subject);
    case "additionalProperties":
    case "unevaluatedProperties":
      return unknownProperty(error, text(params.additionalProperty ?? params.unevaluatedProperty));
    case "type":
      return `${subject} must be ${typeWords(params.type)}, not ${typeOf(error.data)}.`;
    case "enum":
      return `${subject} must be one of ${list(params.allowedValues)}.`;
    case "const":
      return `${subject} must be ${clip(JSON.stringify(params.allowedValue))}.`;
    case "format":
      return `${subject} must be a valid ${text(params.format)}${FORMAT_HINTS[text(params.format)] ?? ""}.`;
    case "pattern":
      return `${subject} must match the pattern ${clip(text(params.pattern))}.`;
    case "minimum":
    case "maximum":
    case "exclusiveMinimum":
    case "exclusiveMaximum":
      return `${subject} must be ${text(params.comparison)} ${text(params.limit)}.`;
    case "uniqueItems":
      return `${subject} must not contain the same item twice.`;
    case "false schema":
      return `${subject} is not allowed.`;
    default:
      return `${subject} ${error.message ?? "is not valid"}.`;
  }
}

const FORMAT_HINTS: Readonly<Record<string, string>> = {
  date: " (YYYY-MM-DD)",
  "date-time": " (RFC 3339, such as 2026-01-31T09:00:00Z)",
  time: " (RFC 3339, such as 09:00:00Z)",
};

function subjectOf(instancePath: string): string {
  if (instancePath === "") return "The value";
  const steps = instancePath
    .slice(1)
    .split("/")
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
  const path = steps
    .map((step, index) => (/^\d+$/.test(step) ? `[${step}]` : index === 0 ? step : `.${step}`))
    .join("");
  return `Property "${clip(path)}"`;
}

function missing(error: ErrorObject, subject: string): string {
  const required: unknown[] = Array.isArray(error.schema) ? error.schema : [];
  const present = isJsonObject(error.data) ? error.data : {};
  const names = required.filter((name) => typeof name === "string" && !Object.hasOwn(present, name));
  const where = error.instancePath === "" ? "" : ` in ${subject.charAt(0).toLowerCase()}${subject.slice(1)}`;
  return names.length === 1
    ? `The required property ${list(names)} is missing${where}.`
    : `The required properties ${list(names)} are missing${where}.`;
}

function unknownProperty(error: ErrorObject, name: string): string {
  const properties: unknown = error.parentSchema?.properties;
  const known = isJsonObject(properties) ? Object.keys(properties) : [];
  const place = error.instancePath === "" ? "" : ` in ${subjectOf(error.instancePath).replace("Property", "property")}`;
  const nearest = nearestName(name, known);
  const hint = nearest === undefined ? "" : ` Did you mean "${nearest}"?`;
  const allowed = known.length === 0 ? "" : ` Allowed: ${list(known)}.`;
  return `Unknown property "${clip(name)}"${place}.${hint}${allowed}`;
}

function typeWords(type: unknown): string {
  const names = Array.isArray(type) ? type.map(text) : text(type).split(",");
  return names.map((name) => TYPE_WORDS[name] ?? name).join(" or ");
}

const TYPE_WORDS: Readonly<Record<string, string>> = {
  array: "an array",
  boolean: "a boolean",
  integer: "an integer",
  null: "null",
  number: "a number",
  object: "an object",
  string: "a string",
};

function typeOf(value: unknown): string {
  if (value === null) return "null";
  const name = Array.isArray(value) ? "array" : typeof value;
  return TYPE_WORDS[name] ?? name;
}

function list(values: unknown): string {
  const all: unknown[] = Array.isArray(values) ? values : [];
  const shown = all.slice(0, MAX_LISTED).map((value) => clip(JSON.stringify(value)));
  return shown.join(", ") + (all.length > shown.length ? `, … (${all.length - shown.length} more)` : "");
}

function text(value: unknown): string {
  return typeof value === "string" ? value : String(value);
}

/** Returns at most 120 characters without control characters, since names come from callers and upstreams. */
function clip(value: string): string {
  const printable = value.replaceAll(/\p{Cc}/gu, "?");
  return printable.length > 120 ? `${printable.slice(0, 119)}…` : printable;
}
