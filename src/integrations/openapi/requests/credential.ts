import type { JsonObject } from "../../../json.ts";
import { encode } from "../../percent-encode.ts";
import type { CredentialPlan } from "../model/operation.ts";

export interface PresentedCredential {
  readonly headers: Readonly<Record<string, string>>;
  readonly query: readonly string[];
  readonly cookies: readonly string[];
  /** The values as sent, to redact from answers. */
  readonly secrets: readonly string[];
}

/** The configuration lacks a required credential. */
export class MissingCredential extends Error {
  override readonly name = "MissingCredential";
}

const PLACEHOLDER = /\{([A-Za-z0-9_]+)\}/g;

/**
 * Writes the credentials; `token` is for plans that need a requested token. Throws MissingCredential, and nothing is
 * sent.
 */
export function presentCredentials(
  plans: readonly CredentialPlan[],
  configuration: JsonObject,
  token?: string,
): PresentedCredential {
  const headers: Record<string, string> = {};
  const query: string[] = [];
  const cookies: string[] = [];
  const secrets: string[] = [];
  for (const plan of plans) {
    if (plan.kind === "basic") {
      const pair = `${filled(plan.username, configuration)}:${filled(plan.password, configuration)}`;
      const encoded = Buffer.from(pair, "utf8").toString("base64");
      headers.authorization = `Basic ${encoded}`;
      secrets.push(pair, encoded);
    } else if (plan.kind === "bearer" || plan.kind === "client_credentials" || plan.kind === "owner") {
      const bearer =
        plan.kind === "bearer" ? filled(plan.token, configuration) : (token ?? missing("no token was received"));
      headers.authorization = `Bearer ${headerSafe(bearer)}`;
      secrets.push(bearer);
    } else {
      const value = filled(plan.value, configuration);
      secrets.push(value, encode(value));
      if (plan.kind === "header") headers[plan.name.toLowerCase()] = headerSafe(value);
      else if (plan.kind === "query") query.push(`${encode(plan.name)}=${encode(value)}`);
      else cookies.push(`${plan.name}=${encode(value)}`);
    }
  }
  return { headers, query, cookies, secrets };
}

/** Fills a template from the configuration. Throws MissingCredential. */
export function filled(template: string, configuration: JsonObject): string {
  return template.replaceAll(PLACEHOLDER, (_, name: string) => {
    const value = configuration[name];
    return typeof value === "string" && value !== "" ? value : missing(name);
  });
}

function missing(what: string): never {
  throw new MissingCredential(what);
}

/** A line break would start another header. */
function headerSafe(value: string): string {
  if (/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) return value;
  return missing("it has characters that no header can carry");
}
