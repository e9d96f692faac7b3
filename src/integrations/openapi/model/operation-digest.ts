import { createHash } from "node:crypto";
import { isJsonObject, printInKeyOrder, type JsonObject, type JsonValue } from "../../../json.ts";
import { arrayOf, followReference, lookUp, objectOf, OpenApiError, type OpenApiDocument } from "./document.ts";

export interface StatedOperation {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly item: JsonObject;
  readonly operation: JsonObject;
}

/**
 * Creates a function that digests an operation's definition. The digest covers the document's text, not our
 * conversion, so that a release that converts better does not look like a change of the upstream. Excludes what no
 * tool shows: examples, failures, links. Each referenced part is digested once.
 */
export function createOperationDigests(document: OpenApiDocument): (stated: StatedOperation) => string {
  const parts = new Map<string, { readonly digest: string; readonly refersTo: readonly string[] }>();

  function partOf(reference: string): { readonly digest: string; readonly refersTo: readonly string[] } {
    const known = parts.get(reference);
    if (known !== undefined) return known;
    const value = partAt(document, reference);
    const part = {
      digest: createHash("sha256").update(printInKeyOrder(value)).digest("base64url"),
      refersTo: [...referencesIn(value)],
    };
    parts.set(reference, part);
    return part;
  }

  return (stated) => {
    const statement = statementOf(document, stated);
    const reached = new Set<string>();
    const waiting = [...referencesIn(statement)];
    for (let reference = waiting.pop(); reference !== undefined; reference = waiting.pop()) {
      if (reached.has(reference)) continue;
      reached.add(reference);
      waiting.push(...partOf(reference).refersTo);
    }
    const hash = createHash("sha256").update("openapi\n").update(printInKeyOrder(statement));
    for (const reference of [...reached].sort()) hash.update(`\n${reference} ${partOf(reference).digest}`);
    return hash.digest("base64url");
  };
}

/** Collects everything that a tool and its calls depend on. */
function statementOf(document: OpenApiDocument, { name, method, path, item, operation }: StatedOperation): JsonObject {
  const { summary, description, deprecated, tags } = operation;
  const extensions = Object.entries(operation).filter(([key]) => key.startsWith("x-patchbay-"));
  const body = followReference(document, operation.requestBody);
  const answers = Object.entries(objectOf(operation.responses)).filter(([status]) => status.startsWith("2"));
  return withoutUndefined({
    ...Object.fromEntries(extensions),
    ...{ name, method, path, summary, description, deprecated, category: arrayOf(tags)[0] },
    server: arrayOf(operation.servers ?? item.servers ?? document.root.servers)[0],
    security: operation.security ?? document.root.security,
    parameters: [...arrayOf(item.parameters), ...arrayOf(operation.parameters)],
    body: withoutUndefined({
      description: body.description,
      required: body.required,
      content: contentOf(body, ["schema", "encoding"]),
    }),
    answers: answers.map(([status, answer]) => [status, contentOf(followReference(document, answer), ["schema"])]),
  });
}

function contentOf({ content }: JsonObject, keys: readonly string[]): JsonObject {
  return Object.fromEntries(
    Object.entries(objectOf(content)).map(([type, media]) => [
      type,
      Object.fromEntries(Object.entries(objectOf(media)).filter(([key]) => keys.includes(key))),
    ]),
  );
}

function withoutUndefined(value: { readonly [key: string]: JsonValue | undefined }): JsonObject {
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]): [string, JsonValue][] => (item === undefined ? [] : [[key, item]])),
  );
}

/** A dangling reference that no tool needs must not make the document unusable. */
function partAt(document: OpenApiDocument, reference: string): JsonValue {
  try {
    return lookUp(document, reference);
  } catch (error) {
    if (error instanceof OpenApiError) return null;
    throw error;
  }
}

function referencesIn(value: JsonValue, found = new Set<string>()): ReadonlySet<string> {
  if (Array.isArray(value)) for (const item of value) referencesIn(item, found);
  else if (isJsonObject(value)) {
    if (typeof value.$ref === "string") found.add(value.$ref);
    for (const item of Object.values(value)) if (typeof item === "object") referencesIn(item, found);
  }
  return found;
}
