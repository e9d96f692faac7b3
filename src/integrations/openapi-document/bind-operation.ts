import type { JsonObject } from "../../json.ts";
import {
  MAX_SERVER_URL_LENGTH,
  type CredentialPlan,
  type Operation,
  type ServerPlan,
} from "../openapi/model/operation.ts";
import { clientCredentialsOf } from "./bind-client-credentials.ts";
import type { LoadedDocument } from "./document-cache.ts";
import { DocumentFailure } from "./document-failure.ts";
import { literal } from "./literal-address.ts";

/** Adds a connection's address and credentials to an operation. Throws DocumentFailure `unusable`. */
export function bindOperation(operation: Operation, document: LoadedDocument, configuration: JsonObject): Operation {
  return {
    ...operation,
    server: serverOf(operation.server, configuration),
    credentials: credentialsOf(operation, document, configuration),
  };
}

/**
 * The key is sent only to `base_url`, to the origin of the document, or to the server of an inline document: a
 * fetched document's author is not trusted.
 */
function serverOf(server: ServerPlan, configuration: JsonObject): ServerPlan {
  const { base_url: base, spec_url: source, api_token: token } = configuration;
  // Only the document's defaults fill variables, so that an address cannot contain secrets of the configuration.
  if (typeof base === "string") return { url: literal(new URL(base)), defaults: new Map() };
  const filled = server.url.replaceAll(/\{([^{}]+)\}/g, (whole, name: string) => server.defaults.get(name) ?? whole);
  if (filled.length > MAX_SERVER_URL_LENGTH)
    throw new DocumentFailure(
      "unusable",
      `The document's server address has more than ${MAX_SERVER_URL_LENGTH} characters; set base_url.`,
    );
  const url = URL.parse(filled, typeof source === "string" ? source : undefined);
  if (url === null || !/^https?:$/.test(url.protocol) || /[{}]/.test(filled))
    throw new DocumentFailure("unusable", "The document names no complete server address; set base_url.");
  if (url.username !== "" || url.password !== "")
    throw new DocumentFailure("unusable", "The document's server address has a user name in it; set base_url.");
  if (typeof token === "string" && typeof source === "string" && url.origin !== new URL(source).origin)
    throw new DocumentFailure(
      "unusable",
      `The document comes from another site than its server ${url.origin}; set base_url to say that the key may go there.`,
    );
  return { url: literal(url), defaults: new Map() };
}

const RANKS: Readonly<Record<CredentialPlan["kind"], number>> = {
  client_credentials: 0,
  owner: 0,
  bearer: 0,
  header: 1,
  query: 1,
  cookie: 1,
  basic: 2,
};

function credentialsOf(
  { requirements }: Operation,
  { schemes }: LoadedDocument,
  configuration: JsonObject,
): readonly CredentialPlan[] {
  if (typeof configuration.api_token !== "string") return [];
  if (typeof configuration.client_id === "string")
    return requirements?.every((names) => names.length === 0) === true
      ? []
      : [clientCredentialsOf(requirements, schemes, configuration)];
  if (schemes.length === 0) return [{ kind: "bearer", token: "{api_token}" }];
  const plans = new Map(schemes);
  // Many documents declare schemes without requiring them.
  const choices = (requirements ?? schemes.map(([name]) => [name])).filter(
    (names) => names.length > 0 && names.every((name) => plans.has(name)),
  );
  const wanted = configuration.security_scheme;
  const preferred = choices.filter((names) => names.some((name) => name === wanted));
  const rank = (names: readonly string[]): number =>
    Math.max(...names.map((name) => RANKS[plans.get(name)?.kind ?? "basic"]));
  const [best = []] = (preferred.length > 0 ? preferred : choices).toSorted((a, b) => rank(a) - rank(b));
  return best.flatMap((name) => {
    const plan = plans.get(name);
    if (plan === undefined) return [];
    const isPair = plan.kind === "basic" && typeof configuration.username === "string";
    return [isPair ? { kind: "basic" as const, username: "{username}", password: "{api_token}" } : plan];
  });
}
