import { isJsonObject, type JsonObject, type JsonValue } from "../../json.ts";
import type { Operation } from "../openapi/model/operation.ts";

/** Deduplicates schema definitions, which serialized parts of a document repeat. */
export interface SharedDefinitions {
  /** Replaces the operation's definitions with copies seen before. */
  share(operation: Operation): Operation;
}

/** Within a document, one name means one schema per direction. */
export function createSharedDefinitions(): SharedDefinitions {
  const inputs = new Map<string, JsonValue>();
  const outputs = new Map<string, JsonValue>();
  return {
    share(operation) {
      const { inputSchema, outputSchema } = operation.tool;
      const tool = {
        ...operation.tool,
        inputSchema: shared(inputSchema, inputs),
        ...(outputSchema === undefined ? {} : { outputSchema: shared(outputSchema, outputs) }),
      };
      return { ...operation, tool };
    },
  };
}

function shared(schema: JsonObject, known: Map<string, JsonValue>): JsonObject {
  const { definitions } = schema;
  if (!isJsonObject(definitions)) return schema;
  const entries = Object.entries(definitions).map(([name, definition]): [string, JsonValue] => {
    const first = known.get(name) ?? definition;
    known.set(name, first);
    return [name, first];
  });
  return { ...schema, definitions: Object.fromEntries(entries) };
}
