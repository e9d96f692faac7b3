import { randomBytes } from "node:crypto";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../json.ts";
import type { BodyPlan, FieldPlan } from "../model/operation.ts";
import { queryPieces } from "./parameter-style.ts";

export interface EncodedBody {
  readonly contentType: string;
  readonly bytes: string | Buffer;
}

/** Encodes the body from the arguments and the `extra` fields; undefined when there is nothing to send. */
export function encodeBody(plan: BodyPlan, args: JsonObject, extra: JsonObject): EncodedBody | undefined {
  if (plan.argument !== undefined) {
    const whole = Object.hasOwn(args, plan.argument) ? args[plan.argument] : undefined;
    return whole === undefined ? undefined : encodeWhole(plan, whole);
  }
  const values: [FieldPlan, JsonValue][] = [];
  for (const [argument, field] of plan.fields) {
    const value = Object.hasOwn(args, argument) ? args[argument] : undefined;
    if (value !== undefined) values.push([field, value]);
  }
  for (const [name, value] of Object.entries(extra)) values.push([{ ...UNNAMED, name }, value]);
  if (plan.kind === "form") return encodeForm(plan.contentType, values);
  if (plan.kind === "multipart") return encodeMultipart(values);
  const object = Object.fromEntries(values.map(([field, value]) => [field.name, value]));
  return { contentType: jsonType(plan), bytes: JSON.stringify(object) };
}

const UNNAMED = { style: "form", explode: true, contentType: undefined, isFile: false } as const;

function encodeWhole(plan: BodyPlan, value: JsonValue): EncodedBody {
  if (plan.kind === "binary") {
    const contentType = plan.contentType.includes("*") ? "application/octet-stream" : plan.contentType;
    return { contentType, bytes: Buffer.from(typeof value === "string" ? value : "", "base64") };
  }
  if (plan.kind === "text" && typeof value === "string") return { contentType: plan.contentType, bytes: value };
  if (isJsonObject(value) && plan.kind !== "json") {
    const fields = Object.entries(value).map(([name, item]): [FieldPlan, JsonValue] => [{ ...UNNAMED, name }, item]);
    return plan.kind === "form" ? encodeForm(plan.contentType, fields) : encodeMultipart(fields);
  }
  return { contentType: jsonType(plan), bytes: JSON.stringify(value) };
}

function jsonType({ contentType, kind }: BodyPlan): string {
  return kind !== "json" || contentType.includes("*") ? "application/json" : contentType;
}

function encodeForm(contentType: string, values: readonly [FieldPlan, JsonValue][]): EncodedBody {
  const pieces = values.flatMap(([field, value]) =>
    queryPieces(value, { ...field, asJson: field.contentType === "application/json" }),
  );
  return { contentType, bytes: pieces.join("&") };
}

function encodeMultipart(values: readonly [FieldPlan, JsonValue][]): EncodedBody {
  const boundary = `patchbay-${randomBytes(16).toString("hex")}`;
  const parts: Buffer[] = [];
  for (const [field, value] of values)
    for (const item of Array.isArray(value) ? value : [value]) parts.push(...partOf(boundary, field, item));
  parts.push(Buffer.from(`--${boundary}--\r\n`));
  return { contentType: `multipart/form-data; boundary=${boundary}`, bytes: Buffer.concat(parts) };
}

function partOf(boundary: string, field: FieldPlan, value: JsonValue): Buffer[] {
  const lines = [`--${boundary}`];
  const name = `form-data; name="${quoted(field.name)}"`;
  if (field.isFile && isJsonObject(value)) {
    const { content, filename, media_type: mediaType } = value;
    lines.push(`Content-Disposition: ${name}; filename="${quoted(typeof filename === "string" ? filename : "file")}"`);
    lines.push(
      `Content-Type: ${typeof mediaType === "string" ? mediaType : (field.contentType ?? "application/octet-stream")}`,
    );
    const bytes = Buffer.from(typeof content === "string" ? content : "", "base64");
    return [Buffer.from(`${lines.join("\r\n")}\r\n\r\n`), bytes, Buffer.from("\r\n")];
  }
  lines.push(`Content-Disposition: ${name}`);
  if (typeof value === "object" && value !== null)
    lines.push(`Content-Type: ${field.contentType ?? "application/json"}`);
  const text = typeof value === "object" && value !== null ? JSON.stringify(value) : String(value ?? "");
  return [Buffer.from(`${lines.join("\r\n")}\r\n\r\n${text}\r\n`)];
}

/** Escapes a quoted name (WHATWG «multipart/form-data encoding»). */
function quoted(text: string): string {
  return text.replaceAll('"', "%22").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}
