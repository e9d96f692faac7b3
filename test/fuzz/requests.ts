import { OPERATIONS } from "../support/clients.ts";
import type { JsonValue } from "../../src/json.ts";
import { type Document, listExamples, listOperations, type LocatedOperation, resolve } from "../contract/document.ts";
import type { Random } from "./random.ts";
import { oddText, spoiled, validValue } from "./values.ts";

export interface FuzzRequest {
  /** The operation id. */
  readonly operation: string;
  readonly method: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | undefined;
}

export interface Ingredients {
  readonly document: Document;
  readonly random: Random;
  /** Tokens of all kinds; the first is valid for everything. */
  readonly tokens: readonly string[];
  /** Ids from earlier responses: connections, sessions, tools. */
  readonly seen: readonly string[];
  /** Bodies that create connections with tools. */
  readonly connections: readonly JsonValue[];
}

/** A request in one line, without its token. */
export function describeRequest({ method, target, headers, body }: FuzzRequest): string {
  return `${method} ${target.slice(0, 300)} ${JSON.stringify({ ...headers, authorization: undefined })} ${body?.toString().slice(0, 500) ?? ""}`;
}

const TYPES = [
  "application/json",
  "text/plain",
  "application/x-www-form-urlencoded",
  "application/proto",
  "",
  'a/b; c="d',
];
const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "PROPFIND"];

/** Node rejects invalid header values itself, so they never reach a server. */
function headerText(text: string): string {
  return text.replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, "").slice(0, 4_000);
}

function pathText(text: string): string {
  return encodeURIComponent(text.toWellFormed()).slice(0, 8_000);
}

function idText({ random, seen }: Ingredients): string {
  const choice = random.next();
  if (choice < 0.6 && seen.length > 0) return pathText(random.pick(seen));
  if (choice < 0.8) return String(random.below(2_000));
  return choice < 0.9
    ? random.pick(["0", "-1", "01", "4294967296", "1e3", "%31", "%00", ".."])
    : pathText(oddText(random));
}

function authorization({ random, tokens }: Ingredients): string | undefined {
  const choice = random.next();
  if (choice < 0.8) return `Bearer ${tokens[0] ?? ""}`;
  if (choice < 0.9) return `Bearer ${random.pick(tokens)}`;
  if (choice < 0.94) return undefined;
  return headerText(
    random.pick(["Bearer", "Basic YTpi", `Bearer ${oddText(random)}`, `Bearer ${tokens[0] ?? ""}==`, oddText(random)]),
  );
}

function bodyOf(value: JsonValue, random: Random): Buffer {
  const text = JSON.stringify(value);
  if (random.chance(0.9)) return Buffer.from(text);
  const bytes = Buffer.from(text);
  if (random.chance(0.5)) return bytes.subarray(0, random.below(bytes.length + 1));
  if (bytes.length > 0) bytes[random.below(bytes.length)] = random.below(256);
  return bytes;
}

/** Creates requests for every operation of the OpenAPI document, and for the same operations over Connect. */
export function createRequests(ingredients: Ingredients): () => FuzzRequest {
  const { document, random } = ingredients;
  const operations = listOperations(document);
  const rpcs = [...OPERATIONS.values()];

  function jsonOf({ operation }: LocatedOperation): JsonValue | undefined {
    const media = operation.requestBody?.content["application/json"];
    if (media === undefined) return random.chance(0.02) ? oddText(random) : undefined;
    const examples = listExamples(document, media);
    const choice = random.next();
    if (choice < 0.2 && operation.operationId === "createConnection") return random.pick(ingredients.connections);
    const [, example] = examples.length === 0 ? [] : random.pick(examples);
    const base = choice < 0.5 && example !== undefined ? example : validValue(document, media.schema, random);
    return random.chance(0.5) ? base : spoiled(base, random);
  }

  function rest(located: LocatedOperation): FuzzRequest {
    const { path, parameters, operation } = located;
    const headers: Record<string, string> = {};
    const query = new URLSearchParams();
    for (const parameter of parameters) {
      if (parameter.in === "path" || random.chance(parameter.required === true ? 0.1 : 0.5)) continue;
      const known = validValue(document, resolve(document, parameter).schema, random);
      const text = random.chance(0.4) ? idText(ingredients) : random.chance(0.5) ? String(known) : oddText(random);
      if (parameter.in === "query") query.append(parameter.name, text.toWellFormed());
      else headers[parameter.name] = headerText(text);
    }
    if (random.chance(0.05)) query.append(oddText(random).toWellFormed(), oddText(random).toWellFormed());
    const filled = path.replaceAll(/\{[^}]+\}/g, () => idText(ingredients));
    const isForm = operation.requestBody?.content["application/x-www-form-urlencoded"] !== undefined;
    const json = isForm ? undefined : jsonOf(located);
    const form = `grant_type=${random.pick(["client_credentials", "password", ""])}&scope=${encodeURIComponent(oddText(random).toWellFormed())}`;
    const type = isForm ? "application/x-www-form-urlencoded" : "application/json";
    return {
      operation: operation.operationId,
      method: random.chance(0.03) ? random.pick(METHODS) : located.method,
      target: filled + (query.size === 0 ? "" : `?${query.toString().slice(0, 12_000)}`),
      headers:
        json === undefined && !isForm
          ? headers
          : { ...headers, "content-type": random.chance(0.05) ? random.pick(TYPES) : type },
      body: isForm ? Buffer.from(form.slice(0, 30_000)) : json === undefined ? undefined : bodyOf(json, random),
    };
  }

  function connect(): FuzzRequest {
    const rpc = random.pick(rpcs);
    const names = rpc.input.fields.map(({ jsonName }) => jsonName);
    const value = Object.fromEntries(
      names.filter(() => random.chance(0.6)).map((name): [string, JsonValue] => [name, idText(ingredients)]),
    );
    return {
      operation: `connect/${rpc.name}`,
      method: "POST",
      target: `/${rpc.parent.typeName}/${rpc.name}`,
      headers: { "content-type": random.chance(0.05) ? random.pick(TYPES) : "application/json" },
      body: bodyOf(random.chance(0.7) ? spoiled(value, random) : value, random),
    };
  }

  return () => {
    const request = random.chance(0.75) ? rest(random.pick(operations)) : connect();
    const token = authorization(ingredients);
    const session = random.chance(0.3) && ingredients.seen.length > 0 ? random.pick(ingredients.seen) : undefined;
    return {
      ...request,
      headers: {
        ...request.headers,
        "x-forwarded-for": `10.${random.below(256)}.${random.below(256)}.${random.below(256)}`,
        ...(token !== undefined && { authorization: token }),
        ...(session !== undefined && { "x-session-id": headerText(session) }),
        ...(random.chance(0.01) && { "accept-encoding": "gzip, br", "x-request-id": headerText(oddText(random)) }),
      },
    };
  };
}
