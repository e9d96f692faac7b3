import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { type Document, listOperations, type LocatedOperation, resolve, type Schema } from "../contract/document.ts";
import type { FuzzRequest } from "./requests.ts";
import type { FuzzAnswer } from "./send.ts";

/** Returns the contract violation of a response, or undefined. */
export type ContractCheck = (request: FuzzRequest, answer: FuzzAnswer) => string | undefined;

/**
 * Checks responses against the OpenAPI document: status, required headers, content type and body; and that accepted
 * request bodies match the document.
 */
export function createContractCheck(document: Document): ContractCheck {
  const ajv = new Ajv2020({ strict: false });
  addFormats.default(ajv);
  ajv.addSchema({ $id: "contract", components: document.components });
  const compiled = new Map<Schema, ValidateFunction>();
  const validatorOf = (schema: Schema): ValidateFunction => {
    const known = compiled.get(schema);
    if (known !== undefined) return known;
    const local = JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"contract#/components')) as Schema;
    const made = ajv.compile(local);
    compiled.set(schema, made);
    return made;
  };
  // Literal paths come before those with parameters, as OpenAPI requires.
  const operations = listOperations(document)
    .map((located) => ({ located, parameters: located.path.split("{").length - 1, pattern: patternOf(located.path) }))
    .sort((left, right) => left.parameters - right.parameters);
  const operationOf = ({ method, target }: FuzzRequest): LocatedOperation | undefined => {
    const path = target.split("?", 1)[0] ?? "";
    const asked = method === "HEAD" ? "GET" : method;
    const onPath = operations.filter(({ pattern }) => pattern.test(path));
    const fewest = onPath[0]?.parameters;
    return onPath.find(({ parameters, located }) => parameters === fewest && located.method === asked)?.located;
  };

  const forbidden = ({ operation }: LocatedOperation, { headers, body }: FuzzRequest): string | undefined => {
    const media = operation.requestBody?.content["application/json"];
    if (media === undefined || body === undefined || body.length === 0) return undefined;
    if (headers["content-type"]?.startsWith("application/json") !== true) return undefined;
    const validate = validatorOf(media.schema);
    return validate(JSON.parse(body.toString())) ? undefined : ajv.errorsText(validate.errors);
  };

  return (request, { status, headers, text, isStream }) => {
    const found = operationOf(request);
    // Connect's own paths and unknown paths.
    if (found === undefined) return undefined;
    const name = `${found.operation.operationId} ${status}`;
    const reference = found.operation.responses[String(status)];
    if (reference === undefined) return `${name} is not in the document`;
    const broken = status < 300 ? forbidden(found, request) : undefined;
    if (broken !== undefined) return `${name} was given what the document forbids: ${broken}`;
    const answer = resolve(document, reference);
    for (const [header, definition] of Object.entries(answer.headers ?? {})) {
      if (resolve(document, definition).required === true && !(header.toLowerCase() in headers))
        return `${name} lacks the header ${header}`;
    }
    if (request.method === "HEAD" || isStream) return undefined;
    if (answer.content === undefined) return text === "" ? undefined : `${name} has a body`;
    const type = headers["content-type"]?.split(";", 1)[0] ?? "";
    const media = answer.content[type];
    if (media === undefined) return `${name} has the content type ${JSON.stringify(type)}`;
    if (type !== "application/json") return undefined;
    const validate = validatorOf(media.schema);
    return validate(JSON.parse(text)) ? undefined : `${name}: ${ajv.errorsText(validate.errors)}`;
  };
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(".", "\\.").replaceAll(/\{[^}]+\}/g, "[^/]+")}$`);
}
