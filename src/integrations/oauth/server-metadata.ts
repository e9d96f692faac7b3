import type { JsonObject, JsonValue } from "../../json.ts";
import type { AuthorizationServer } from "../authorization.ts";
import { fetchMetadata, type OutboundAccess, destinationRefusal, stringsOf } from "./fetch-metadata.ts";
import { TokenFailure } from "./token-failure.ts";

export interface DescribedServer {
  readonly server: AuthorizationServer;
  readonly registrationEndpoint: string | undefined;
  /** Whether the server accepts client ID metadata documents. */
  readonly supportsClientDocuments: boolean;
  /** Client authentication methods; undefined when not stated. */
  readonly authentications: readonly string[] | undefined;
  readonly scopes: readonly string[] | undefined;
}

const OAUTH = "/.well-known/oauth-authorization-server";
const OPENID = "/.well-known/openid-configuration";

/** Path levels at which the issuer of a login page is looked up. */
const MAX_LOGIN_FOLDERS = 4;

/** Finds a server that publishes no metadata. */
export type FindWithoutMetadata = (
  issuer: URL,
  access: OutboundAccess,
  signal: AbortSignal,
) => Promise<DescribedServer | undefined>;

/**
 * Reads authorization server metadata: RFC 8414, then OpenID with inserted path, then with prefixed path. Throws
 * TokenFailure when metadata is missing, incomplete, of another issuer, or names an address that is not allowed.
 * `findWithout` is used only if there is no metadata at all.
 */
export async function describeServer(
  issuer: string,
  access: OutboundAccess,
  signal: AbortSignal,
  findWithout?: FindWithoutMetadata,
): Promise<DescribedServer> {
  const url = issuerUrl(issuer, access);
  const absences: string[] = [];
  for (const address of addressesFor(url)) {
    const fetched = await fetchMetadata(address, access, signal);
    if ("document" in fetched) {
      const described = readServer(fetched.document, issuer, address, access);
      await checkLoginPage(described.server, access, signal);
      return described;
    }
    absences.push(fetched.absent);
  }
  const found = await findWithout?.(url, access, signal);
  if (found !== undefined) return found;
  throw new TokenFailure(
    "other",
    `The authorization server ${issuer} has no metadata (${absences.join("; ")}). It must publish its metadata (RFC 8414), ` +
      "or its MCP server be used with an api_token.",
  );
}

/**
 * Rejects a server that uses the login page of another one but redeems the codes itself (RFC 9700 §4.4). Endpoints of
 * one issuer may have different origins, so the login page's own origin is checked: metadata that names the page must
 * name the token endpoint too.
 */
async function checkLoginPage(server: AuthorizationServer, access: OutboundAccess, signal: AbortSignal): Promise<void> {
  const login = new URL(server.authorizationEndpoint);
  const token = new URL(server.tokenEndpoint);
  if (login.origin === new URL(server.issuer).origin || login.origin === token.origin) return;
  const folders = login.pathname.split("/").filter((part) => part !== "");
  const issuers = folders.slice(0, MAX_LOGIN_FOLDERS).map((_, depth) => `/${folders.slice(0, depth).join("/")}`);
  const addresses = ["/", ...issuers].flatMap((path) => addressesFor(new URL(path, login.origin)));
  const unique = [...new Map(addresses.map((address) => [address.href, address])).values()];
  const answers = await Promise.all(unique.map((address) => fetchMetadata(address, access, signal)));
  const documents = answers.flatMap((answer) => ("document" in answer ? [answer.document] : []));
  const namingLogin = documents.filter(({ authorization_endpoint: named }) => isSamePage(named, login));
  if (namingLogin.length === 0 || namingLogin.some(({ token_endpoint: named }) => isSamePage(named, token))) return;
  throw new TokenFailure(
    "other",
    `${server.issuer} names the login page of another server, ${login.host}, which has its codes redeemed elsewhere than at ` +
      `${token.host}. So nobody was sent there.`,
  );
}

/** Ignores case, a trailing slash and the query. */
function isSamePage(named: JsonValue | undefined, page: URL): boolean {
  const url = typeof named === "string" ? URL.parse(named) : null;
  const plain = (pathname: string): string => pathname.toLowerCase().replace(/\/$/, "");
  return url?.origin === page.origin && plain(url.pathname) === plain(page.pathname);
}

function issuerUrl(issuer: string, { checkDestination }: OutboundAccess): URL {
  const url = URL.parse(issuer);
  const refused = checkDestination(issuer);
  if (url?.search !== "" || refused !== undefined) {
    const reason =
      url === null || refused === undefined ? "That is no issuer (RFC 8414)." : destinationRefusal(refused, url.host);
    throw new TokenFailure("other", `The connection is authorized at ${issuer.slice(0, 300)}, it says. ${reason}`);
  }
  return url;
}

function addressesFor(issuer: URL): readonly URL[] {
  const path = issuer.pathname.replace(/\/$/, "");
  const paths = [`${OAUTH}${path}`, `${OPENID}${path}`, `${path}${OPENID}`];
  return [...new Set(paths)].map((each) => new URL(each, issuer.origin));
}

function readServer(document: JsonObject, issuer: string, address: URL, access: OutboundAccess): DescribedServer {
  const at = `${address.host}${address.pathname}`;
  const fault = (words: string): TokenFailure => new TokenFailure("other", `${at} ${words}`);
  const { issuer: named } = document;
  if (typeof named !== "string") throw fault("names no issuer (RFC 8414), so nobody was sent there.");
  if (!isSameIssuer(named, issuer))
    throw fault(`names another issuer than ${issuer}: ${named.slice(0, 300)}. So nobody was sent there.`);
  const endpoint = (name: string): string | undefined => {
    const value = document[name];
    if (value === undefined || value === null) return undefined;
    const refused = typeof value === "string" ? access.checkDestination(value) : "must be a string";
    if (typeof value !== "string" || refused !== undefined)
      throw fault(`names an ${name} that cannot be used. ${destinationRefusal(refused ?? "", address.host)}`);
    return value;
  };
  const authorizationEndpoint = endpoint("authorization_endpoint");
  const tokenEndpoint = endpoint("token_endpoint");
  if (authorizationEndpoint === undefined) throw fault("names no authorization_endpoint: nobody can log in there.");
  if (tokenEndpoint === undefined) throw fault("names no token_endpoint: it cannot issue tokens.");
  const lacks = (name: string, word: string): boolean => stringsOf(document[name])?.includes(word) === false;
  if (lacks("response_types_supported", "code") || lacks("grant_types_supported", "authorization_code"))
    throw fault("does not offer the authorization code flow, the only one that is supported here.");
  if (stringsOf(document["code_challenge_methods_supported"])?.includes("S256") !== true)
    throw fault(
      "does not promise PKCE with S256 (code_challenge_methods_supported), without which a code could be redeemed by others. " +
        "MCP requires it: report this to the server's operator.",
    );
  return {
    server: {
      issuer: named,
      authorizationEndpoint,
      tokenEndpoint,
      revocationEndpoint: endpoint("revocation_endpoint"),
      sendsIssuer: document["authorization_response_iss_parameter_supported"] === true,
    },
    registrationEndpoint: endpoint("registration_endpoint"),
    supportsClientDocuments: document["client_id_metadata_document_supported"] === true,
    authentications: stringsOf(document["token_endpoint_auth_methods_supported"]),
    scopes: stringsOf(document["scopes_supported"]),
  };
}

/** Ignores a trailing slash, since the metadata is then at the same URL (RFC 8414 §3.1). */
function isSameIssuer(one: string, other: string): boolean {
  return URL.parse(one)?.href.replace(/\/$/, "") === URL.parse(other)?.href.replace(/\/$/, "");
}
