import { isJsonObject, type JsonObject, type JsonValue } from "../../json.ts";
import type { ToolDefinition, ToolHints } from "../tool.ts";
import { acceptOf, outputSchemaOf } from "./results/answers.ts";
import { credentialsOf, requirementsOf } from "./security/security.ts";
import { arrayOf, followReference, objectOf, stringOf, type OpenApiDocument } from "./model/document.ts";
import { inputOf } from "./schema/input.ts";
import type { Operation } from "./model/operation.ts";
import { createOperationDigests } from "./model/operation-digest.ts";
import { rateLimitsOf } from "./results/rate-limits.ts";
import { createSchemaConverter } from "./schema/schema.ts";
import { serverOf } from "./requests/server-plan.ts";
import { toolNames, type NamedOperation } from "./model/tool-name.ts";

const METHODS = ["get", "put", "post", "delete", "options", "head", "patch", "trace", "query"] as const;
/** Methods that only read, by HTTP's definition. */
const READING = new Set(["GET", "HEAD", "OPTIONS", "QUERY"]);
/** Methods that change or delete existing data. */
const CHANGING = new Set(["PUT", "PATCH", "DELETE"]);
/** Idempotent writing methods, by HTTP's definition. */
const REPEATABLE = new Set(["PUT", "DELETE"]);
const DEFAULT_AUDIENCE = ["user", "assistant"];
const MAX_DESCRIPTION_LENGTH = 2_000;

export interface OperationDefaults {
  readonly category: string | undefined;
  /** The configuration property sent for schemes without `x-patchbay-credential`. */
  readonly credentialProperty: string | undefined;
  /** The document may change at any time, so its tools carry digests. */
  readonly isUntrusted?: boolean;
}

interface RawOperation extends NamedOperation {
  readonly item: JsonObject;
  readonly operation: JsonObject;
}

/**
 * Converts every operation of a document to a callable tool. Extensions of an operation: `x-patchbay-read-only`,
 * `x-patchbay-destructive`, `x-patchbay-idempotent` and `x-patchbay-open-world` override what the method implies; there
 * are also `x-patchbay-category`, `x-patchbay-audience`, `x-patchbay-rate-limits` (see `rate-limits.ts`; at the root
 * for all operations together), and `x-patchbay-hidden` excludes it. Throws OpenApiError for dangling references.
 */
export function operationsOf(document: OpenApiDocument, defaults: OperationDefaults): readonly Operation[] {
  const raw = rawOperations(document);
  const names = toolNames(raw);
  const inputs = createSchemaConverter(document, "input");
  const outputs = createSchemaConverter(document, "output");
  const shared = rateLimitsOf(document.root["x-patchbay-rate-limits"], "");
  const digestOf = defaults.isUntrusted === true ? createOperationDigests(document) : undefined;
  return raw.map((entry, index): Operation => {
    const { operation, item, method, path } = entry;
    const input = inputOf(document, inputs, { path, shared: arrayOf(item.parameters), operation });
    const credentials = credentialsOf(document, operation, defaults.credentialProperty);
    const outputSchema = outputSchemaOf(document, outputs, operation);
    const category =
      stringOf(operation["x-patchbay-category"]) ?? stringOf(arrayOf(operation.tags)[0]) ?? defaults.category;
    const readOnly = flagOf(operation["x-patchbay-read-only"]) ?? READING.has(method);
    const audience = arrayOf(operation["x-patchbay-audience"]).filter((word) => typeof word === "string");
    const server = serverOf(operation.servers ?? item.servers ?? document.root.servers);
    const name = names[index] ?? "";
    const tool: ToolDefinition = {
      name,
      description: descriptionOf(entry),
      inputSchema: input.schema,
      ...(outputSchema === undefined ? {} : { outputSchema }),
      annotations: {
        audience: audience.length > 0 ? audience : DEFAULT_AUDIENCE,
        requiresAuth: credentials.length > 0,
        ...(category === undefined ? {} : { category }),
      },
      readOnly,
      ...hintsOf(operation, method, readOnly),
      ...(digestOf && {
        digest: digestOf({ name, ...entry }),
        request: `${method} ${server.url.replace(/\/$/, "")}${path}`,
      }),
    };
    const { parameters, body } = input;
    const accept = acceptOf(document, operation);
    const requirements = requirementsOf(document, operation);
    const rateLimits = [...shared, ...rateLimitsOf(operation["x-patchbay-rate-limits"], tool.name)];
    return {
      tool,
      method,
      path,
      server,
      parameters,
      body,
      accept,
      credentials,
      ...(rateLimits.length > 0 && { rateLimits }),
      requirements,
    };
  });
}

/** PUT, PATCH and DELETE are destructive by default; a POST gets no hint, since it may do anything. */
function hintsOf(operation: JsonObject, method: string, readOnly: boolean): { readonly hints?: ToolHints } {
  const destructive =
    flagOf(operation["x-patchbay-destructive"]) ?? (!readOnly && CHANGING.has(method) ? true : undefined);
  const idempotent =
    flagOf(operation["x-patchbay-idempotent"]) ?? (!readOnly && REPEATABLE.has(method) ? true : undefined);
  const openWorld = flagOf(operation["x-patchbay-open-world"]);
  const hints: ToolHints = {
    ...(destructive !== undefined && { destructive }),
    ...(idempotent !== undefined && { idempotent }),
    ...(openWorld !== undefined && { openWorld }),
  };
  return Object.keys(hints).length === 0 ? {} : { hints };
}

function flagOf(value: JsonValue | undefined): boolean | undefined {
  return typeof value === "boolean" ? value : undefined;
}

function rawOperations(document: OpenApiDocument): readonly RawOperation[] {
  const found: RawOperation[] = [];
  for (const [path, value] of Object.entries(objectOf(document.root.paths))) {
    if (!path.startsWith("/")) continue;
    const item = followReference(document, value);
    for (const key of METHODS) {
      const operation = item[key];
      if (!isJsonObject(operation) || operation["x-patchbay-hidden"] === true) continue;
      found.push({ item, operation, operationId: stringOf(operation.operationId), method: key.toUpperCase(), path });
    }
  }
  return found;
}

function descriptionOf({ operation, method, path }: RawOperation): string {
  const summary = stringOf(operation.summary)?.trim() ?? "";
  const description = stringOf(operation.description)?.trim() ?? "";
  const heading = summary === "" || /[.!?]$/.test(summary) ? summary : `${summary}.`;
  const text =
    description === "" || description.startsWith(summary) ? description || heading : `${heading} ${description}`;
  const deprecated = operation.deprecated === true ? "Deprecated. " : "";
  const whole = `${deprecated}${text === "" ? `${method} ${path}` : text}`;
  return whole.length > MAX_DESCRIPTION_LENGTH ? `${whole.slice(0, MAX_DESCRIPTION_LENGTH - 1)}…` : whole;
}
