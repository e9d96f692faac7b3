import type {
  AuthorizationServer,
  AuthorizationTerms,
  UpstreamClient,
} from "../../integrations/oauth/authorization.ts";
import type { Grant, KeptTokens } from "../../integrations/oauth/grant.ts";
import { isJsonObject, type JsonValue } from "../../json.ts";
import type { SealedPlace, Sealer } from "../sealing.ts";

/** A row of `connection_grant`, as `GRANT_COLUMNS` selects it. */
export interface GrantRow {
  id: string;
  key_version: number;
  sealed_grant: Buffer;
  version: number;
  lost_reason: string | null;
}

/** What `toGrant` reads. */
export const GRANT_COLUMNS = "id, key_version, sealed_grant, version, lost_reason";

/** Where a grant is sealed to. */
export function grantPlace(accountId: string, id: string): SealedPlace {
  return { table: "connection_grant", column: "sealed_grant", accountId, rowId: id };
}

/** Seals the tokens and what they are renewed with. */
export function sealGrant(
  sealer: Sealer,
  accountId: string,
  id: string,
  grant: Pick<Grant, "terms" | "tokens">,
): Buffer {
  const { terms, tokens } = grant;
  return sealer.seal(JSON.stringify({ terms, tokens }), grantPlace(accountId, id));
}

/** The grant in a row. Throws SealError. */
export function toGrant(sealer: Sealer, accountId: string, row: GrantRow): Grant {
  const sealed = fieldsOf(JSON.parse(sealer.open(row.sealed_grant, grantPlace(accountId, row.id))));
  return {
    id: row.id,
    keyVersion: row.key_version,
    version: row.version,
    terms: toTerms(fieldsOf(sealed.terms)),
    tokens: toTokens(fieldsOf(sealed.tokens)),
    lostReason: row.lost_reason ?? undefined,
  };
}

type Fields = Readonly<Record<string, JsonValue | undefined>>;

function fieldsOf(value: unknown): Fields {
  return isJsonObject(value) ? value : {};
}

function toTokens({ accessToken, refreshToken, expiresAtMs, scope }: Fields): KeptTokens {
  return {
    accessToken: text(accessToken),
    refreshToken: optionalText(refreshToken),
    expiresAtMs: typeof expiresAtMs === "number" ? expiresAtMs : undefined,
    scope: optionalText(scope),
  };
}

function toTerms({ title, server, client, resource, scope, extra, audience }: Fields): AuthorizationTerms {
  return {
    title: text(title),
    server: toServer(fieldsOf(server)),
    client: toUpstreamClient(fieldsOf(client)),
    resource: optionalText(resource),
    scope: optionalText(scope),
    extra: textsOf(fieldsOf(extra)),
    audience: text(audience),
  };
}

function toServer(fields: Fields): AuthorizationServer {
  return {
    issuer: text(fields.issuer),
    authorizationEndpoint: text(fields.authorizationEndpoint),
    tokenEndpoint: text(fields.tokenEndpoint),
    revocationEndpoint: optionalText(fields.revocationEndpoint),
    sendsIssuer: fields.sendsIssuer === true,
  };
}

/** A client in the form in which it was sealed. */
export function toUpstreamClient({ clientId, clientSecret, authentication, source }: Fields): UpstreamClient {
  return {
    clientId: text(clientId),
    clientSecret: optionalText(clientSecret),
    authentication:
      authentication === "client_secret_basic" || authentication === "client_secret_post" ? authentication : "none",
    source: source === "document" || source === "registered" ? source : "configured",
  };
}

function textsOf(fields: Fields): Readonly<Record<string, string>> {
  const texts = Object.entries(fields).filter((entry): entry is [string, string] => typeof entry[1] === "string");
  return Object.fromEntries(texts);
}

function text(value: JsonValue | undefined): string {
  if (typeof value !== "string") throw new TypeError("a sealed grant lacks a text");
  return value;
}

function optionalText(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}
