import { type OutputUnit, type Schema, Validator } from "@cfworker/json-schema";
import {
  type ErrorSchema,
  type RJSFSchema,
  type RJSFValidationError,
  toErrorSchema,
  type ValidatorType,
} from "@rjsf/utils";

/** Keywords that only repeat what one of their parts has already said. */
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

/** One complaint in the words of a form, at the field that it is about. */
function toFormError({ keyword, error, instanceLocation }: OutputUnit): RJSFValidationError {
  const path = instanceLocation.split("/").slice(1);
  const missing = keyword === "required" ? MISSING.exec(error)?.[1] : undefined;
  const property = [...path, ...(missing === undefined ? [] : [missing])].map((part) => `.${part}`).join("");
  const message = missing === undefined ? error : "This is needed.";
  return { name: keyword, property, message, stack: message };
}

/**
 * Checks forms without generated code: compiling a schema to JavaScript, as the usual validator does, is what our content
 * security policy forbids.
 */
export const validator: ValidatorType = {
  validateFormData(value: unknown, schema: RJSFSchema) {
    const errors = check(schema, value).map(toFormError);
    const errorSchema: ErrorSchema = toErrorSchema(errors);
    return { errors, errorSchema };
  },
  isValid: (schema: RJSFSchema, value: unknown, root: RJSFSchema) => check(schema, value, root).length === 0,
  // Only the forms' library asks, and only whether there are any.
  rawValidation: (schema: RJSFSchema, value: unknown) =>
    check(schema, value).length === 0 ? {} : { validationError: new Error("The value does not fit its schema.") },
};
