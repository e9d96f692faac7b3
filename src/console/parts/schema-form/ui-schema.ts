import { inWords } from "../in-words.ts";
import type { RJSFSchema, UiSchema } from "@rjsf/utils";

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function ofProperty(name: string, schema: unknown, isNamedInWords: boolean): UiSchema {
  if (!isObject(schema)) return {};
  const { examples, title } = schema;
  const example: unknown = Array.isArray(examples) ? examples[0] : undefined;
  return {
    ...(typeof example === "string" && { "ui:placeholder": example }),
    ...widgetOf(schema),
    ...(isNamedInWords && title === undefined && { "ui:title": inWords(name) }),
    ...(isObject(schema["properties"]) && ofProperties(schema["properties"], isNamedInWords)),
  };
}

/** Texts with at least this maximum length get a multi-line field. */
const LONG_TEXT = 5_000;

function widgetOf({ type, writeOnly, maxLength, format }: Record<string, unknown>): UiSchema {
  if (type !== "string") return {};
  if (writeOnly === true) return { "ui:widget": "password", "ui:options": { autocomplete: "new-password" } };
  const isLong = typeof maxLength === "number" && maxLength >= LONG_TEXT && format === undefined;
  return isLong ? { "ui:widget": "textarea" } : {};
}

function ofProperties(properties: Record<string, unknown>, isNamedInWords: boolean): UiSchema {
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, ofProperty(name, schema, isNamedInWords)]),
  );
}

/** The appearance of a form: secrets masked and never autocompleted, long texts in a larger field. */
export function uiSchemaOf(schema: RJSFSchema, isNamedInWords: boolean): UiSchema {
  return { "ui:submitButtonOptions": { norender: true }, ...ofProperties(schema.properties ?? {}, isNamedInWords) };
}
