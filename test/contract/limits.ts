import type { PlainSchema } from "./document.ts";

/** The largest int32, which only marks an int32. */
const MAX_INT32 = 2_147_483_647;

const NUMBER = String.raw`(\d{1,3}(?:,\d{3})+|\d+)`;
const RANGE = new RegExp(String.raw`\b${NUMBER} to ${NUMBER}\b`);
const UP_TO = new RegExp(String.raw`\bat most ${NUMBER}\b`);
const FROM = new RegExp(String.raw`\b${NUMBER} or more\b`);

/** Limits by their JSON Schema keywords. */
export type Limits = Readonly<Record<string, number>>;

type Field = PlainSchema["schema"];
type Kind = readonly [least: "minimum" | "minLength" | "minItems", most: "maximum" | "maxLength" | "maxItems"];

/** Reads the limits in a field's comment: `1 to 500`, `0 or more`, `at most 2,000 characters`. */
export function limitsInText(comment: string, schema: Field): Limits {
  const kind = kindOf(schema);
  const text = withoutCode(comment);
  if (kind === undefined || (schema.type === "string" && !text.includes("characters"))) return {};
  const [least, most] = kind;
  const [, low, high] = RANGE.exec(text) ?? [];
  if (low !== undefined && high !== undefined) return { [least]: toNumber(low), [most]: toNumber(high) };
  const [, highest] = UP_TO.exec(text) ?? [];
  if (highest !== undefined && least !== "minimum") return { [most]: toNumber(highest) };
  const [, lowest] = least === "minimum" ? (FROM.exec(text) ?? []) : [];
  return lowest === undefined ? {} : { [least]: toNumber(lowest) };
}

/**
 * Reads the limits of a schema. Obvious ones are omitted unless `said` contains them: required values are not empty,
 * and response counts are not negative.
 */
export function limitsInSchema(schema: Field, isAnswer: boolean, isRequired: boolean, said: Limits): Limits {
  const kind = kindOf(schema);
  if (kind === undefined) return {};
  const [least, most] = kind;
  const [low, high] = [schema[least], schema[most]];
  const goesWithoutSaying = isAnswer ? low === 0 || low === 1 : isRequired && low === 1;
  return {
    ...(low !== undefined && (!goesWithoutSaying || least in said) && { [least]: low }),
    ...(high !== undefined && high !== MAX_INT32 && { [most]: high }),
  };
}

/** The numbers in a text, sorted, except those of standards and of code in backticks. */
export function numbersIn(text: string): readonly number[] {
  const bare = withoutCode(text).replaceAll(/\b(?:RFC|ISO|Draft|SHA|UTF)[ -]?\d+(?:\.\d+)*|\d+\^\d+/g, "");
  const found = [...bare.matchAll(new RegExp(NUMBER, "g"))].map(([number]) => toNumber(number));
  return [...new Set(found)].sort((one, other) => one - other);
}

function kindOf({ type }: Field): Kind | undefined {
  if (type === "integer" || type === "number") return ["minimum", "maximum"];
  if (type === "string") return ["minLength", "maxLength"];
  return type === "array" ? ["minItems", "maxItems"] : undefined;
}

function withoutCode(text: string): string {
  return text.replaceAll(/`[^`]*`/g, "");
}

function toNumber(text: string): number {
  return Number(text.replaceAll(",", ""));
}
