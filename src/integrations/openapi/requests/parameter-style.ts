import { isJsonObject, type JsonValue } from "../../../json.ts";
import { encode, percent } from "../../percent-encode.ts";

/** OpenAPI's `style` and `explode`. */
export interface Style {
  readonly name: string;
  readonly style: string;
  readonly explode: boolean;
  readonly allowReserved?: boolean;
  readonly asJson?: boolean;
}

type Encode = (text: string) => string;

/** Percent-encoded path parameter (styles simple, label, matrix). */
export function pathText(value: JsonValue, { name, style, explode, asJson }: Style): string {
  if (asJson === true) return encode(JSON.stringify(value));
  const separator = style === "label" ? "." : style === "matrix" ? ";" : ",";
  const prefix = style === "label" ? "." : style === "matrix" ? ";" : "";
  const named = style === "matrix" ? `${encode(name)}=` : "";
  if (Array.isArray(value)) {
    const items = value.map((item) => encode(plainText(item)));
    if (style === "matrix")
      return explode ? items.map((item) => `;${named}${item}`).join("") : `;${named}${items.join(",")}`;
    return prefix + items.join(explode ? separator : ",");
  }
  if (isJsonObject(value)) {
    const pairs = pairsOf(value, encode);
    if (explode) return prefix + pairs.map((pair) => pair.join("=")).join(separator);
    return prefix + named + pairs.flat().join(",");
  }
  return prefix + named + encode(plainText(value));
}

/** Percent-encoded `name=value` pairs (styles form, spaceDelimited, pipeDelimited, deepObject). */
export function queryPieces(
  value: JsonValue,
  { name, style, explode, allowReserved, asJson }: Style,
): readonly string[] {
  const text: Encode = allowReserved === true ? encodeReserved : encode;
  const key = encode(name);
  if (asJson === true) return [`${key}=${text(JSON.stringify(value))}`];
  if (style === "deepObject" && typeof value === "object") return deepPieces(key, value, text);
  if (Array.isArray(value)) {
    const items = value.map((item) => text(plainText(item)));
    if (explode) return items.map((item) => `${key}=${item}`);
    return [`${key}=${items.join(SEPARATORS[style] ?? ",")}`];
  }
  if (isJsonObject(value)) {
    const pairs = pairsOf(value, text);
    if (explode) return pairs.map(([property, item]) => `${property}=${item}`);
    return [`${key}=${pairs.flat().join(SEPARATORS[style] ?? ",")}`];
  }
  return [`${key}=${text(plainText(value))}`];
}

const SEPARATORS: Readonly<Record<string, string>> = { spaceDelimited: "%20", pipeDelimited: "%7C" };

/** Header value (style simple); headers are not encoded. */
export function headerText(value: JsonValue, { explode, asJson }: Style): string {
  if (asJson === true) return JSON.stringify(value);
  if (Array.isArray(value)) return value.map(plainText).join(",");
  if (!isJsonObject(value)) return plainText(value);
  const pairs = pairsOf(value, (text) => text);
  return explode ? pairs.map((pair) => pair.join("=")).join(",") : pairs.flat().join(",");
}

/** Cookie `name=value` pairs (style form). */
export function cookiePieces(value: JsonValue, style: Style): readonly string[] {
  return queryPieces(value, { ...style, style: "form" });
}

/**
 * `filter[status]=active`. Lists, which OpenAPI leaves undefined, are numbered like `items[0][price]=…`, as in
 * Stripe's SDK, PHP and qs: repeated keys would lose values.
 */
function deepPieces(key: string, value: JsonValue, text: Encode): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((item, index) => deepPieces(`${key}%5B${index}%5D`, item, text));
  if (!isJsonObject(value)) return [`${key}=${text(plainText(value))}`];
  return Object.entries(value).flatMap(([property, inner]) =>
    deepPieces(`${key}%5B${encode(property)}%5D`, inner, text),
  );
}

function pairsOf(value: { [key: string]: JsonValue }, text: Encode): [string, string][] {
  return Object.entries(value).map(([property, item]): [string, string] => [text(property), text(plainText(item))]);
}

function plainText(value: JsonValue): string {
  if (value === null) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/**
 * Percent-encodes what may not occur in a URL, and of the reserved characters those that would end the value: `#`, `&`,
 * `+`.
 */
function encodeReserved(text: string): string {
  return encodeURI(text.toWellFormed()).replaceAll(/[#&+]/g, percent);
}
