import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { encode } from "./percent-encode.ts";

/** Replacing shorter values would damage unrelated text. */
const MIN_SECRET_LENGTH = 4;
const MARK = "[redacted]";

/** Redacts secrets from upstream answers: some upstreams echo the request with its headers. */
export interface Scrubber {
  text(value: string): string;
  /** Whether bytes contain a secret as plain text. */
  isInBytes(bytes: Buffer): boolean;
}

/** Redacts the secret values of a configuration and the values in `sent`. */
export function createScrubber(
  configuration: JsonObject,
  secretProperties: readonly string[],
  sent: readonly string[],
): Scrubber {
  const values = [...secretProperties.flatMap((name) => textsIn(configuration[name])), ...sent];
  const forms = new Set(values.filter((value) => value.length >= MIN_SECRET_LENGTH).flatMap(formsOf));
  // Longest first, so that no part of a longer form remains.
  const secrets = [...forms].sort((a, b) => b.length - a.length);
  return {
    text: (value) =>
      secrets.reduce((text, secret) => (text.includes(secret) ? text.replaceAll(secret, MARK) : text), value),
    isInBytes: (bytes) => secrets.some((secret) => bytes.includes(secret)),
  };
}

/** Plain, in a JSON string, percent-encoded and in base64. */
function formsOf(secret: string): readonly string[] {
  const inJson = JSON.stringify(secret).slice(1, -1);
  const base64 = Buffer.from(secret, "utf8").toString("base64");
  return [secret, inJson, inJson.replaceAll("/", "\\/"), encode(secret), base64, base64.replace(/(?<!=)=+$/, "")];
}

function textsIn(value: JsonValue | undefined): readonly string[] {
  if (typeof value === "string") return [value];
  if (Array.isArray(value)) return value.flatMap(textsIn);
  return isJsonObject(value) ? Object.values(value).flatMap(textsIn) : [];
}
