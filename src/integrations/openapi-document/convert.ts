import { upgrade } from "@scalar/openapi-upgrader";
import { isJsonObject, type JsonObject } from "../../json.ts";
import { asDocument, objectOf, OpenApiError, parseRoot, stringOf } from "../openapi/model/document.ts";
import type { CredentialPlan, Operation } from "../openapi/model/operation.ts";
import { operationsOf } from "../openapi/operations.ts";
import { schemesOf } from "../openapi/security/security.ts";

/** Each operation costs tens of kilobytes. */
const MAX_OPERATIONS = 5_000;

/** Contains plain values only, so that threads can exchange it. */
export interface ConvertedDocument {
  readonly title: string;
  readonly operations: readonly Operation[];
  /** Credentials by security scheme, in the document's order. */
  readonly schemes: readonly (readonly [name: string, plan: CredentialPlan])[];
}

/** Reads OpenAPI 3.0, 3.1, 3.2 or Swagger 2.0, as YAML or JSON. Throws OpenApiError. */
export function convertDocument(text: string): ConvertedDocument {
  const root = parseRoot(text);
  const document = asDocument(root.swagger === undefined ? root : fromSwagger(root));
  const operations = operationsOf(document, {
    category: undefined,
    credentialProperty: "api_token",
    isUntrusted: true,
  });
  if (operations.length === 0) throw new OpenApiError("has no operations");
  if (operations.length > MAX_OPERATIONS)
    throw new OpenApiError(`has ${operations.length} operations; ${MAX_OPERATIONS} are the most`);
  return {
    title: (stringOf(objectOf(document.root.info).title) ?? "").trim().slice(0, 100) || "The upstream",
    operations,
    schemes: schemesOf(document, "api_token"),
  };
}

function fromSwagger(root: JsonObject): JsonObject {
  if (root.swagger !== "2.0") throw new OpenApiError("is a Swagger document of another version than 2.0");
  let upgraded: unknown;
  try {
    upgraded = upgrade(root, "3.0");
  } catch (error) {
    throw new OpenApiError(`cannot be read as Swagger 2.0: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (!isJsonObject(upgraded)) throw new OpenApiError("cannot be read as Swagger 2.0");
  return upgraded;
}
