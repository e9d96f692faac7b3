import { DomainError, invalid } from "../domain-error.ts";
import { requiresCredential } from "../integrations/authentication.ts";
import type { Integration } from "../integrations/integration.ts";
import type { SchemaValidator } from "../integrations/schema-checks/json-schema.ts";
import { SchemaCheckRefused } from "../integrations/schema-checks/check-refused.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";

const MAX_CONFIGURATION_BYTES = 32 * 1024;

/** A configuration split into visible values and secrets. */
export interface SplitConfiguration {
  readonly configuration: JsonObject;
  readonly secrets: JsonObject;
}

/**
 * Checks size, schema and the integration's own rules (DESIGN §6 «create»). A missing secret is allowed; the key then
 * stays `pending`. Throws `invalid` naming `field`.
 */
export function checkConfiguration(
  integration: Integration,
  whole: JsonObject,
  validator: SchemaValidator,
  field: string,
): void {
  const { [integration.documentProperty ?? ""]: document, ...small } = whole;
  if (Buffer.byteLength(JSON.stringify(small)) > MAX_CONFIGURATION_BYTES) {
    throw new DomainError("invalid", `${field} must be at most 32 KiB.`, { field });
  }
  // Only the type of a document is checked here; its integration parses it.
  const checked =
    integration.documentProperty === undefined || document === undefined
      ? small
      : { ...small, [integration.documentProperty]: emptied(document) };
  const complaint = complaintAbout(withoutRequiredSecrets(integration), checked, validator);
  if (complaint !== undefined) throw invalid(field, `${field}: ${complaint}`);
  integration.checkConfiguration?.(whole);
}

function emptied(document: JsonValue): JsonValue {
  if (typeof document === "string") return "";
  return isJsonObject(document) ? {} : document;
}

function complaintAbout(schema: JsonObject, whole: JsonObject, validator: SchemaValidator): string | undefined {
  try {
    return validator.validateOwn(schema, whole);
  } catch (error) {
    if (error instanceof SchemaCheckRefused) return error.message;
    throw error;
  }
}

/** Splits by the integration's list of secret properties. */
export function splitConfiguration(integration: Integration, whole: JsonObject): SplitConfiguration {
  const configuration: JsonObject = {};
  const secrets: JsonObject = {};
  for (const [key, value] of Object.entries(whole)) {
    (integration.secretProperties.includes(key) ? secrets : configuration)[key] = value;
  }
  return { configuration, secrets };
}

/** Returns why a verification cannot start, or undefined. */
export function missingCredentialReason(integration: Integration, hasCredential: boolean): string | undefined {
  if (hasCredential || !requiresCredential(integration)) return undefined;
  return `No ${integration.credentialProperty ?? "credential"} has been supplied yet; send it as api_key in an update.`;
}

const relaxed = new WeakMap<JsonObject, JsonObject>();

function withoutRequiredSecrets(integration: Integration): JsonObject {
  const schema = integration.configurationSchema;
  const known = relaxed.get(schema);
  if (known !== undefined) return known;
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  const kept = required.filter((name: JsonValue) => !integration.secretProperties.some((secret) => secret === name));
  const result = { ...schema, required: kept };
  relaxed.set(schema, result);
  return result;
}

/** Replaces the given keys; null removes an optional key (RFC 7396, one level). */
export function mergeConfiguration(current: JsonObject, patch: JsonObject): JsonObject {
  const merged: JsonObject = { ...current };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else merged[key] = value;
  }
  return merged;
}
