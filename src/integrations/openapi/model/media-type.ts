/** The type of a `Content-Type` header without its parameters, lower case; empty when there is none. */
export function essenceOf(contentType: string | undefined): string {
  return (contentType ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

/** Whether a type is JSON by RFC 6838's suffix rule. */
export function isJsonType(contentType: string): boolean {
  const essence = essenceOf(contentType);
  return essence === "application/json" || essence.endsWith("+json") || essence === "text/json";
}

/** Whether a type is text that can be shown as it is. */
export function isTextType(contentType: string): boolean {
  const essence = essenceOf(contentType);
  return (
    (essence.startsWith("text/") && essence !== "text/json") ||
    essence.endsWith("+xml") ||
    essence.endsWith("+yaml") ||
    TEXTUAL.has(essence)
  );
}

const TEXTUAL = new Set([
  "application/graphql",
  "application/javascript",
  "application/jsonl",
  "application/ndjson",
  "application/sql",
  "application/x-ndjson",
  "application/x-www-form-urlencoded",
  "application/x-yaml",
  "application/xml",
  "application/yaml",
]);

/** The charset of a `Content-Type` header; UTF-8 when it names none. */
export function charsetOf(contentType: string | undefined): string {
  return /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(contentType ?? "")?.[1] ?? "utf-8";
}
