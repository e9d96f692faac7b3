import { type OutputUnit, type Schema, Validator } from "@cfworker/json-schema";
import {
  type ErrorSchema,
  type RJSFSchema,
  type RJSFValidationError,
  toErrorSchema,
  type ValidatorType,
} from "@rjsf/utils";

/** Keywords whose errors only repeat an error of a part. */
const REPEATING = new Set(["properties", "items", "$ref", "allOf", "additionalProperties", "dependencies"]);

const MISSING = /required property "([^"]+)"/;

function check(schema: RJSFSchema | boolean, value: unknown, root?: RJSFSchema): readonly OutputUnit[] {
  const definitions = root?.definitions;
  const whole = typeof schema === "object" && definitions !== undefined ? { ...schema, definitions } : schema;
  // eslint-disable-next-line @typescript-eslint/no-unsafe-type-assertion -- both are JSON Schema of Draft 7, typed twice.
  const wholeSchema = whole as Schema;
  const plain: unknown = JSON.parse(JSON.stringify(value ?? null));
  const { errors } = new Validator(wholeSchema, "7", false).validate(plain);
  return errors.filter(({ keyword }) => !REPEATING.has(keyword));
}

/** Converts an error to the form's format, at its field. */
function toFormError({ keyword, error, instanceLocation }: OutputUnit): RJSFValidationError {
  const path = instanceLocation.split("/").slice(1);
  const missing = keyword === "required" ? MISSING.exec(error)?.[1] : undefined;
  const property = [...path, ...(missing === undefined ? [] : [missing])].map((part) => `.${part}`).join("");
  const message = missing === undefined ? error : "This is needed.";
  return { name: keyword, property, message, stack: message };
}

/**
 * Validates forms without generated code. The usual validator compiles schemas to JavaScript, which our content
 * security policy forbids.
 */
export const validator: ValidatorType = {
  validateFormData(value: unknown, schema: RJSFSchema) {
    const errors = check(schema, value).map(toFormError);
    const errorSchema: ErrorSchema = toErrorSchema(errors);
    return { errors, errorSchema };
  },
  isValid: (schema: RJSFSchema, value: unknown, root: RJSFSchema) => check(schema, value, root).length === 0,
  // Called only by the forms' library, only to see whether there are errors.
  rawValidation: (schema: RJSFSchema, value: unknown) =>
    check(schema, value).length === 0 ? {} : { validationError: new Error("The value does not fit its schema.") },
};
