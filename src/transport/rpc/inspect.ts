import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";
import { invalid } from "../../domain-error.ts";
import { MAX_JSON_DEPTH } from "../http/read-body.ts";
import { fieldValue, isStructField, mapValues } from "./message-fields.ts";

/**
 * Rejects a request with text that cannot be stored or numbers that were rounded on the way. Throws DomainError
 * `invalid`.
 */
export type Inspector = (message: object, refuseRounded: boolean) => void;

/**
 * Creates the inspector of a message type: it rejects NUL and lone surrogates in text, `__proto__` keys, deep JSON, and
 * over RPC integers beyond 2^53. Returns undefined if the type has nothing to inspect. `exempt` names fields to skip:
 * an id with a NUL returns 404 like any unknown id.
 */
export function createInspector(
  desc: DescMessage,
  exempt: readonly string[] = [],
  path = "",
  seen: readonly DescMessage[] = [],
): Inspector | undefined {
  if (seen.includes(desc)) return undefined;
  const checks = desc.fields
    .filter((field) => !exempt.includes(field.name))
    .flatMap((field) => checkField(field, path, [...seen, desc]));
  if (checks.length === 0) return undefined;
  return (message, refuseRounded) => {
    for (const check of checks) check(message, refuseRounded);
  };
}

function checkField(field: DescField, path: string, seen: readonly DescMessage[]): Inspector[] {
  const name = path + field.jsonName;
  const check = valueCheck(field, name, seen);
  if (check === undefined) return [];
  return [
    (message, refuseRounded) => {
      const value = fieldValue(message, field);
      if (value !== undefined) mapValues(field, value, (each) => check(each, refuseRounded));
    },
  ];
}

function valueCheck(
  field: DescField,
  name: string,
  seen: readonly DescMessage[],
): ((value: unknown, refuseRounded: boolean) => void) | undefined {
  if (isStructField(field)) {
    return (value, refuseRounded) => {
      checkJson(value, name, refuseRounded, 1);
    };
  }
  if (field.message !== undefined) {
    const inspect = createInspector(field.message, [], `${name}.`, seen);
    return (
      inspect &&
      ((value, refuseRounded) => {
        if (typeof value === "object" && value !== null) inspect(value, refuseRounded);
      })
    );
  }
  if (field.scalar !== ScalarType.STRING) return undefined;
  return (value) => {
    if (typeof value === "string") checkText(value, name);
  };
}

function checkText(text: string, name: string): void {
  if (text.includes("\0")) throw invalid(name, `${name} must not contain NUL characters.`);
  if (!text.isWellFormed()) throw invalid(name, `${name} must be valid Unicode text.`);
}

function checkJson(value: unknown, name: string, refuseRounded: boolean, depth: number): void {
  if (typeof value === "string") {
    checkText(value, name);
  } else if (typeof value === "number") {
    if (refuseRounded && Number.isInteger(value) && !Number.isSafeInteger(value)) {
      throw invalid(name, `${name} must not contain integers beyond 2^53; send them as text, or over REST.`);
    }
  } else if (typeof value === "object" && value !== null && !JSON.isRawJSON(value)) {
    // The field itself is one level below the request.
    if (depth >= MAX_JSON_DEPTH) throw invalid(name, `${name} is nested deeper than ${String(MAX_JSON_DEPTH)} levels.`);
    for (const [key, item] of Object.entries(value)) {
      if (key === "__proto__") throw invalid(name, `${name} must not have a key named __proto__.`);
      checkText(key, name);
      checkJson(item, name, refuseRounded, depth + 1);
    }
  }
}
