import type { JsonObject, JsonValue } from "../../../json.ts";
import type { UpstreamRequest } from "../../upstream-exchange.ts";
import { encodeBody } from "./request-body.ts";
import type { Operation, ParameterPlan } from "../model/operation.ts";
import { cookiePieces, headerText, pathText, queryPieces } from "./parameter-style.ts";
import { presentCredentials } from "./credential.ts";
import type { ServerAddress } from "./server-address.ts";

export interface OutgoingRequest extends UpstreamRequest {
  /** Every form of the credential that was sent, to redact from answers. */
  readonly secrets: readonly string[];
}

/** An argument that fits the schema but cannot be sent. The message tells the caller what to change. */
export class UnsendableArgument extends Error {
  override readonly name = "UnsendableArgument";
}

/** Builds a request from validated arguments. Throws UnsendableArgument and MissingCredential. */
export function buildRequest(
  operation: Operation,
  args: JsonObject,
  server: ServerAddress,
  configuration: JsonObject,
  token?: string,
): OutgoingRequest {
  const headers: Record<string, string> = { accept: operation.accept, "user-agent": "patchbay" };
  const query: string[] = [];
  const cookies: string[] = [];
  let path = operation.path;
  for (const parameter of operation.parameters) {
    const value = parameter.constant ?? argumentOf(args, parameter.property);
    if (value === undefined || (value === null && parameter.location !== "path")) continue;
    if (parameter.location === "path") path = fillPath(path, parameter, value);
    else if (parameter.location === "query") query.push(...queryPieces(value, parameter));
    else if (parameter.location === "cookie") cookies.push(...cookiePieces(value, parameter));
    else headers[parameter.name.toLowerCase()] = headerValue(parameter.property, headerText(value, parameter));
  }
  const body = operation.body === undefined ? undefined : encodeBody(operation.body, args, unclaimed(operation, args));
  if (body !== undefined) headers["content-type"] = body.contentType;
  const credential = presentCredentials(operation.credentials, configuration, token);
  Object.assign(headers, credential.headers);
  query.push(...credential.query);
  cookies.push(...credential.cookies);
  if (cookies.length > 0) headers.cookie = cookies.join("; ");
  const search = query.length === 0 ? "" : `${path.includes("?") ? "&" : "?"}${query.join("&")}`;
  return {
    method: operation.method,
    origin: server.origin,
    path: `${server.basePath}${path}${search}`,
    headers,
    body: body?.bytes,
    secrets: credential.secrets,
  };
}

function argumentOf(args: JsonObject, property: string): JsonValue | undefined {
  return Object.hasOwn(args, property) ? args[property] : undefined;
}

/** Rejects dot segments even when encoded, because some servers decode a path before resolving it. */
function fillPath(path: string, parameter: ParameterPlan, value: JsonValue): string {
  const text = pathText(value, parameter);
  const climbs = decodeURIComponent(text)
    .split(/[/\\]/)
    .some((segment) => segment === "." || segment === "..");
  if (text === "" || climbs || text.includes("%00"))
    throw new UnsendableArgument(`Property "${parameter.property}" must not be empty, "." or "..", or lead upwards.`);
  return path.replaceAll(`{${parameter.name}}`, () => text);
}

function headerValue(property: string, text: string): string {
  if (/^[\t\x20-\x7e\x80-\xff]*$/.test(text)) return text;
  throw new UnsendableArgument(
    `Property "${property}" is sent as a header: it must be one line of Latin-1 characters.`,
  );
}

/** Arguments that no parameter or named field uses. */
function unclaimed({ parameters, body }: Operation, args: JsonObject): JsonObject {
  if (body?.isOpen !== true) return {};
  const claimed = new Set([...parameters.map(({ property }) => property), ...body.fields.keys()]);
  return Object.fromEntries(Object.entries(args).filter(([name]) => !claimed.has(name)));
}
