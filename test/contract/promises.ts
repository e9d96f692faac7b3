import { type Document, type LocatedOperation, type Schema, listOperations, plain, resolve } from "./document.ts";

/** Whether the caller sends the schema or receives it. */
type Direction = "accepts" | "answers";

const LIMITS = ["format", "pattern", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"] as const;

/**
 * Lists everything a client may rely on, one promise per line, sorted. A line that disappears is a breaking change:
 * a removed path, response or field, a changed type or limit, a request field that became required, and so on.
 */
export function listPromises(document: Document): string[] {
  const promises = new Set<string>();
  const seen = new Set<string>();

  function walk(direction: Direction, where: string, given: Schema): void {
    if (given.$ref !== undefined) {
      const name = given.$ref.split("/").at(-1) ?? "";
      promises.add(`${where}: ${name}`);
      const { type } = plain(document, given).schema;
      if (type === "string") promises.add(`${where}: ${type}`);
      if (seen.has(`${direction} ${name}`)) return;
      seen.add(`${direction} ${name}`);
      walk(direction, `${direction} ${name}`, resolve(document, given));
      return;
    }
    const { schema, takesNull } = plain(document, given);
    if (takesNull) promises.add(`${where}: takes null`);
    const named = given.oneOf?.find((shape) => shape.$ref !== undefined);
    if (takesNull && named !== undefined) {
      walk(direction, where, named);
      return;
    }
    if (schema.type !== undefined) promises.add(`${where}: ${schema.type}`);
    if (schema.const !== undefined) promises.add(`${where}: always ${JSON.stringify(schema.const)}`);
    for (const limit of LIMITS) {
      if (schema[limit] !== undefined) promises.add(`${where}: ${limit} ${schema[limit]}`);
    }
    if (schema.enum !== undefined && direction === "answers")
      promises.add(`${where}: one of ${schema.enum.join(", ")}`);
    if (schema.enum !== undefined && direction === "accepts") {
      for (const word of schema.enum) promises.add(`${where}: takes ${word}`);
    }
    if (schema.type === "object" && direction === "accepts" && schema.additionalProperties !== false) {
      promises.add(`${where}: takes further fields`);
    }
    for (const [name, property] of Object.entries(schema.properties ?? {})) {
      const required = schema.required?.includes(name) === true;
      if (direction === "answers" && required) promises.add(`${where}.${name}: always there`);
      if (direction === "accepts" && !required) promises.add(`${where}.${name}: may be left out`);
      walk(direction, `${where}.${name}`, property);
    }
    if (schema.items !== undefined) walk(direction, `${where}[]`, schema.items);
    schema.oneOf?.forEach((branch, index) => walk(direction, `${where} (${index + 1})`, branch));
    if (schema.contentSchema !== undefined) walk(direction, `${where} (each event)`, schema.contentSchema);
  }

  function walkOperation({ method, path, operation, parameters }: LocatedOperation): void {
    const where = `${method} ${path}`;
    promises.add(`${where}: ${operation.operationId}`);
    for (const alternative of operation.security) {
      for (const [scheme, scopes] of Object.entries(alternative))
        promises.add(`${where}: ${scheme} ${scopes.join(" ")}`);
    }
    if (operation.security.length === 0) promises.add(`${where}: without a token`);
    for (const parameter of parameters) {
      const place = `${where} ${parameter.in} ${parameter.name}`;
      if (parameter.required !== true) promises.add(`${place}: may be left out`);
      walk("accepts", place, parameter.schema);
    }
    if (operation.requestBody?.required !== true) promises.add(`${where} body: may be left out`);
    for (const [type, media] of Object.entries(operation.requestBody?.content ?? {})) {
      walk("accepts", `${where} body ${type}`, media.schema);
    }
    for (const [status, reference] of Object.entries(operation.responses)) {
      const answer = resolve(document, reference);
      for (const [name, header] of Object.entries(answer.headers ?? {})) {
        const { required, schema } = resolve(document, header);
        promises.add(`${where} ${status} header ${name}: ${required === true ? "always there" : "where it helps"}`);
        walk("answers", `${where} ${status} header ${name}`, schema);
      }
      for (const [type, media] of Object.entries(answer.content ?? {})) {
        walk("answers", `${where} ${status} ${type}`, media.schema);
      }
    }
  }

  for (const operation of listOperations(document)) walkOperation(operation);
  return [...promises].sort();
}

export function lostPromises(baseline: readonly string[], current: readonly string[]): string[] {
  const kept = new Set(current);
  return baseline.filter((promise) => !kept.has(promise));
}
