import { timingSafeEqual } from "node:crypto";
import type { AllClientMetadata } from "oidc-provider";
import type { TokenClient } from "../../../identity/clients/clients.ts";
import type { RecordTokenIssue } from "../../../identity/audit/token-issues.ts";
import { hashSecret } from "../../../identity/hash-secret.ts";
import { type ClientDirectory, isDocumentAddress } from "./client-directory.ts";
import type { FailedAttempts } from "./failed-attempts.ts";
import { onlyHeader, type HttpExchange } from "../../http/exchange.ts";
import { invalidClient, invalidRequest, OAuthError } from "../oauth-error.ts";
import { clientAddress, requestOrigin } from "../../http/peer.ts";
import type { AuthorizationProvider } from "../provider/provider.ts";

/** What a caller claims with HTTP Basic. */
export interface ClientCredentials {
  readonly clientId: string;
  readonly clientSecret: string;
}

/** A client that has shown who it is, or that cannot and need not. */
export interface AuthenticatedClient {
  readonly clientId: string;
  readonly metadata: AllClientMetadata;
  /** Undefined for clients that no account here keeps. */
  readonly own: TokenClient | undefined;
  /** Whether it shows nothing: anybody may say that they are this client. */
  readonly isPublic: boolean;
}

/** Finds out which client a request is from. Every method fails with `invalid_client` when it is not who it says. */
export interface ClientAuthentication {
  /** By the header, before anything of the body is read; undefined without the header. */
  byHeader(exchange: HttpExchange): Promise<AuthenticatedClient | undefined>;
  /** By a signed assertion, or by its name alone for a public client. */
  byForm(exchange: HttpExchange, form: ReadonlyMap<string, string>): Promise<AuthenticatedClient>;
}

const BASIC = /^Basic ([A-Za-z0-9+/]{1,2048}={0,2})$/i;

/** RFC 6749 §2.3.1: both parts are form-encoded before they are joined. Ours need no encoding, so a raw text is its own. */
function formDecode(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return undefined;
  }
}

/** Reads HTTP Basic; undefined for another scheme, broken base64, a missing colon or an empty part. */
export function parseBasic(authorization: string | undefined): ClientCredentials | undefined {
  const encoded = BASIC.exec(authorization ?? "")?.[1];
  if (encoded === undefined) return undefined;
  const text = Buffer.from(encoded, "base64").toString("utf8");
  const colon = text.indexOf(":");
  if (colon < 1) return undefined;
  const clientId = formDecode(text.slice(0, colon));
  const clientSecret = formDecode(text.slice(colon + 1));
  return clientId && clientSecret ? { clientId, clientSecret } : undefined;
}

const NO_SECRET = Buffer.alloc(32);

/** No secret hashes to NO_SECRET. */
function isSecret(expected: Uint8Array = NO_SECRET, given: Uint8Array): boolean {
  return expected.length === given.length && timingSafeEqual(expected, given);
}

/** The client id that an assertion claims; for counting attempts, before anything of it is believed. */
function claimedSubject(assertion: string): string {
  try {
    const payload: unknown = JSON.parse(Buffer.from(assertion.split(".")[1] ?? "", "base64url").toString("utf8"));
    return typeof payload === "object" && payload !== null && "sub" in payload ? String(payload.sub).slice(0, 128) : "";
  } catch {
    return "";
  }
}

/** Client authentication over the directory, and the provider for what is signed or fetched. */
export function createClientAuthentication(deps: {
  readonly issuer: string;
  readonly pepper: Uint8Array;
  readonly directory: ClientDirectory;
  readonly provider: () => Promise<Pick<AuthorizationProvider, "authenticate" | "findClient">>;
  readonly attempts: FailedAttempts;
  readonly recordIssue: RecordTokenIssue;
  readonly trustProxy: boolean;
}): ClientAuthentication {
  const { issuer, directory, attempts } = deps;

  async function counted<Result>(
    exchange: HttpExchange,
    clientId: string,
    check: () => Promise<Result>,
  ): Promise<Result> {
    const address = clientAddress(exchange, deps.trustProxy);
    await attempts.check(address, clientId);
    try {
      return await check();
    } catch (error) {
      if (error instanceof OAuthError && (error.httpStatus ?? 500) < 500) await attempts.count(address, clientId);
      throw error;
    }
  }

  async function checkSecret(
    exchange: HttpExchange,
    { clientId, clientSecret }: ClientCredentials,
  ): Promise<AuthenticatedClient> {
    const client = await directory.find(clientId);
    const given = hashSecret(deps.pepper, clientSecret);
    const [current, previous] = client?.secretHashes ?? [];
    // Both are compared whatever comes, so that an unknown client and one without an earlier secret take the same path.
    const [isCurrent, isPrevious] = [isSecret(current, given), isSecret(previous, given)];
    const takesSecrets = client?.metadata.token_endpoint_auth_method === "client_secret_basic";
    if (client === undefined || !takesSecrets || !(isCurrent || isPrevious)) {
      const accountId = client?.own?.accountId;
      if (accountId !== undefined)
        deps.recordIssue({ accountId, clientId, outcome: "refused", ...requestOrigin(exchange, deps.trustProxy) });
      throw invalidClient(issuer, "The client does not exist, is revoked, or its secret is wrong.");
    }
    return { ...client, isPublic: false };
  }

  async function checkAssertion(form: ReadonlyMap<string, string>): Promise<AuthenticatedClient> {
    const provider = await deps.provider();
    const metadata = await provider.authenticate(new URLSearchParams([...form]));
    const clientId = metadata.client_id ?? "";
    const own = (await directory.find(clientId))?.own;
    return { clientId, metadata, own, isPublic: false };
  }

  async function checkPublic(clientId: string): Promise<AuthenticatedClient> {
    const known = await directory.find(clientId);
    const isDocument = known === undefined && isDocumentAddress(clientId);
    const metadata = isDocument ? await (await deps.provider()).findClient(clientId) : known?.metadata;
    if (metadata?.token_endpoint_auth_method !== "none") {
      throw invalidClient(issuer, "The client does not exist, is revoked, or must authenticate.");
    }
    return { clientId, metadata, own: known?.own, isPublic: true };
  }

  return {
    async byHeader(exchange) {
      if (exchange.headers.authorization === undefined) return undefined;
      const credentials = parseBasic(onlyHeader(exchange, "authorization"));
      if (credentials === undefined)
        throw invalidClient(issuer, "The header Authorization holds no HTTP Basic credentials.");
      return counted(exchange, credentials.clientId, () => checkSecret(exchange, credentials));
    },
    async byForm(exchange, form) {
      if (form.has("client_secret")) throw invalidClient(issuer, "A client sends its secret with HTTP Basic alone.");
      const [assertion, clientId] = [form.get("client_assertion"), form.get("client_id")];
      if (assertion !== undefined) {
        if (form.get("client_assertion_type") === undefined) throw invalidRequest("client_assertion_type is missing.");
        return counted(exchange, claimedSubject(assertion), () => checkAssertion(form));
      }
      if (clientId === undefined) throw invalidClient(issuer, "The request says of no client that it is from it.");
      return counted(exchange, clientId, () => checkPublic(clientId));
    },
  };
}
