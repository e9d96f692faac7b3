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

/** The credentials of an HTTP Basic header, not yet verified. */
export interface ClientCredentials {
  readonly clientId: string;
  readonly clientSecret: string;
}

/** An authenticated client, or a public client, which cannot authenticate. */
export interface AuthenticatedClient {
  readonly clientId: string;
  readonly metadata: AllClientMetadata;
  /** Undefined for clients that belong to no account. */
  readonly own: TokenClient | undefined;
  /** Whether the client is public: anybody may claim to be this client. */
  readonly isPublic: boolean;
}

/** Identifies the client of a request. Every method fails with `invalid_client` if authentication fails. */
export interface ClientAuthentication {
  /** Authenticates by the header, before the body is read. Returns undefined without the header. */
  byHeader(exchange: HttpExchange): Promise<AuthenticatedClient | undefined>;
  /** Authenticates by a signed assertion, or identifies a public client by its id. */
  byForm(exchange: HttpExchange, form: ReadonlyMap<string, string>): Promise<AuthenticatedClient>;
}

const BASIC = /^Basic ([A-Za-z0-9+/]{1,2048}={0,2})$/i;

/**
 * RFC 6749 §2.3.1: both parts are form-encoded before they are joined. Ours need no encoding, so unencoded credentials
 * work as well.
 */
function formDecode(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return undefined;
  }
}

/** Parses HTTP Basic. Returns undefined for another scheme, invalid base64, a missing colon or an empty part. */
function parseBasic(authorization: string | undefined): ClientCredentials | undefined {
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

/** No secret has the hash NO_SECRET. */
function isSecret(expected: Uint8Array = NO_SECRET, given: Uint8Array): boolean {
  return expected.length === given.length && timingSafeEqual(expected, given);
}

/** The client id that an unverified assertion claims, only for counting attempts. */
function claimedSubject(assertion: string): string {
  try {
    const payload: unknown = JSON.parse(Buffer.from(assertion.split(".")[1] ?? "", "base64url").toString("utf8"));
    return typeof payload === "object" && payload !== null && "sub" in payload ? String(payload.sub).slice(0, 128) : "";
  } catch {
    return "";
  }
}

/** Authenticates clients of the directory. The provider verifies assertions and fetches documents. */
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
    // Both are always compared, so that timing does not reveal whether the client exists or has an earlier secret.
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
        throw invalidClient(issuer, "The Authorization header does not contain valid HTTP Basic credentials.");
      return counted(exchange, credentials.clientId, () => checkSecret(exchange, credentials));
    },
    async byForm(exchange, form) {
      if (form.has("client_secret")) throw invalidClient(issuer, "A client must send its secret with HTTP Basic.");
      const [assertion, clientId] = [form.get("client_assertion"), form.get("client_id")];
      if (assertion !== undefined) {
        if (form.get("client_assertion_type") === undefined) throw invalidRequest("client_assertion_type is missing.");
        return counted(exchange, claimedSubject(assertion), () => checkAssertion(form));
      }
      if (clientId === undefined) throw invalidClient(issuer, "The request does not identify a client.");
      return counted(exchange, clientId, () => checkPublic(clientId));
    },
  };
}
