import { invalid } from "../../../domain-error.ts";
import type { JsonObject } from "../../../json.ts";
import { MAX_SERVER_URL_LENGTH, type ServerPlan } from "../model/operation.ts";
import { encode } from "../../percent-encode.ts";

/** `https://host[:port]`, and the path prefix without a trailing slash. */
export interface ServerAddress {
  readonly origin: string;
  readonly basePath: string;
}

const DNS_LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/i;
const WHOLE_VARIABLE = /^\{([^{}]+)\}(.*)$/s;

/**
 * Fills a server URL from the configuration. A value in the host must be one DNS label, so that it cannot name
 * another host, port or user; in the path it is encoded. A URL that starts with a variable takes a whole URL from it.
 * `override` replaces everything before the path. Throws DomainError `invalid` naming the property.
 */
export function serverAddress(server: ServerPlan, configuration: JsonObject, override?: string): ServerAddress {
  if (server.url.length > MAX_SERVER_URL_LENGTH)
    throw invalid("servers", `The server address must have at most ${MAX_SERVER_URL_LENGTH} characters.`);
  const [, variable, rest] = WHOLE_VARIABLE.exec(server.url) ?? [];
  if (variable !== undefined) {
    const base = override ?? valueOf(server, configuration, variable);
    return joined(wholeAddress(variable, base), fillPath(server, configuration, rest ?? ""));
  }
  const [, scheme = "", host = "", path = ""] = /^(https?):\/\/([^/?#]*)([^?#]*)/i.exec(server.url) ?? [];
  const pathFilled = fillPath(server, configuration, scheme === "" ? server.url : path);
  if (override !== undefined) return joined(wholeAddress("base address", override), pathFilled);
  if (scheme === "") throw invalid("servers", "The contract names no server address.");
  const hostFilled = host.replaceAll(/\{([^{}]+)\}/g, (_, name: string) => label(server, configuration, name));
  return { origin: `${scheme.toLowerCase()}://${hostFilled.toLowerCase()}`, basePath: withoutSlash(pathFilled) };
}

/**
 * Fills a token endpoint's URL by the same rules, but keeps a trailing slash and the query. Throws DomainError
 * `invalid` naming the property.
 */
export function tokenAddress(server: ServerPlan, configuration: JsonObject, override?: string): string {
  const [, path = "", query = ""] = /^([^?#]*)(\?[^#]*)?/.exec(server.url) ?? [];
  const { origin, basePath } = serverAddress({ ...server, url: path }, configuration, override);
  return `${origin}${basePath}${path.endsWith("/") ? "/" : ""}${query}`;
}

/**
 * Whether the configuration names another server than the contract's. The operator's secret and the vendor's tokens
 * must not be sent there.
 */
export function isOtherAddress({ url, defaults }: ServerPlan, configuration: JsonObject): boolean {
  const [, name = ""] = WHOLE_VARIABLE.exec(url) ?? [];
  const value = configuration[name];
  const usual = defaults.get(name);
  return typeof value === "string" && (usual === undefined || withoutSlash(value) !== withoutSlash(usual));
}

function label(server: ServerPlan, configuration: JsonObject, name: string): string {
  const value = valueOf(server, configuration, name);
  if (DNS_LABEL.test(value)) return value;
  throw invalid(name, `${name} must be one part of a host name: letters, digits and hyphens, at most 63.`);
}

function fillPath(server: ServerPlan, configuration: JsonObject, path: string): string {
  return path.replaceAll(/\{([^{}]+)\}/g, (_, name: string) => {
    const value = valueOf(server, configuration, name);
    if (value === "" || value === "." || value === "..") throw invalid(name, `${name} must not be empty or a dot.`);
    return encode(value);
  });
}

function valueOf(server: ServerPlan, configuration: JsonObject, name: string): string {
  const value = configuration[name];
  if (typeof value === "string" || typeof value === "number") return String(value);
  const fallback = server.defaults.get(name);
  if (fallback === undefined) throw invalid(name, `${name} is missing: it is part of the address to call.`);
  return fallback;
}

function wholeAddress(name: string, value: string): ServerAddress {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const isWeb = url?.protocol === "https:" || url?.protocol === "http:";
  if (url === undefined || !isWeb || url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "")
    throw invalid(name, `${name} must be a web address without user, query or fragment.`);
  return { origin: url.origin, basePath: withoutSlash(url.pathname) };
}

function joined(base: ServerAddress, path: string): ServerAddress {
  const separated = path === "" || path.startsWith("/") ? path : `/${path}`;
  return { origin: base.origin, basePath: base.basePath + withoutSlash(separated) };
}

function withoutSlash(path: string): string {
  return path.replace(/(?<!\/)\/+$/, "");
}
