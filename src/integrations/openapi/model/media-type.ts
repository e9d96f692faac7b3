/** Returns the lowercase type without parameters; empty when there is none. */
export function essenceOf(contentType: string | undefined): string {
  return (contentType ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

/** RFC 6838 suffix rule. */
export function isJsonType(contentType: string): boolean {
  const essence = essenceOf(contentType);
  return essence === "application/json" || essence.endsWith("+json") || essence === "text/json";
}

/** Whether the type is readable text. */
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

/** Defaults to UTF-8. */
export function charsetOf(contentType: string | undefined): string {
  return /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(contentType ?? "")?.[1] ?? "utf-8";
}
