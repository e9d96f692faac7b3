import { DomainError } from "../../../domain-error.ts";
import type { Csrf } from "../../pages/csrf.ts";
import type { LoginSession } from "../../../identity/login/login-session.ts";
import type { BrowserSessions } from "../../pages/login/browser-sessions.ts";
import type { PageRoute } from "../../pages/serve-pages.ts";
import { readBrowserForm } from "../../pages/read-form.ts";
import { loginAddress } from "../../pages/login/return-to.ts";
import { consentPage } from "../../pages/consent-page.ts";
import { messagePage } from "../../pages/message-page.ts";
import { answerPage, answerRedirect } from "../../pages/answer-page.ts";
import { isDocumentAddress } from "../clients/client-directory.ts";
import type { ActingAccount } from "../../../identity/oauth/acting-account.ts";
import type { Choice, Consent } from "./consent.ts";
import type { AskedAuthorization, AuthorizationContext } from "../provider/request-context.ts";
import type { HttpExchange } from "../../http/exchange.ts";
import { AUTHORIZE_PATH, CONSENT_PATH } from "../metadata.ts";
import { requestOrigin } from "../../http/peer.ts";
import type { AuthorizationProvider } from "../provider/provider.ts";
import { redirectHost, redirectKind, redirectSource } from "../../../identity/clients/client-redirect-uri.ts";
import { parseResource } from "../resource.ts";
import { SCOPE_WORDS } from "./scope-words.ts";
import { withoutOfflineAccess } from "../tokens/token-request.ts";

export interface AuthorizeDeps {
  readonly issuer: string;
  readonly sessions: Pick<BrowserSessions, "read">;
  readonly csrf: Csrf;
  readonly consent: Consent;
  readonly provider: () => Promise<Pick<AuthorizationProvider, "authorize">>;
  readonly trustProxy: boolean;
}

/** The parameters of an authorization request that are used; others are ignored (RFC 6749 §3.1). */
const PARAMETERS = [
  ...["response_type", "client_id", "redirect_uri", "scope", "state", "code_challenge", "code_challenge_method"],
  ...["resource", "response_mode", "prompt", "request", "request_uri", "registration"],
];

/** Query parameter with the time at which a login was requested, so that a later login satisfies the request. */
const ASKED_AT = "asked_at";

/** How long a login satisfies the request. */
const LOGIN_COUNTS_MS = 900_000;

/** Maximum length of a request in characters; pages carry it in a form. */
const MAX_QUERY = 3_500;

/** An authorization request for the provider, and its demands on the person. */
interface ReadRequest {
  readonly query: URLSearchParams;
  readonly mustAsk: boolean;
  /** When the login that the client requires was requested, in milliseconds. Undefined if it requires none. */
  readonly loginSince: number | undefined;
}

function readRequest(issuer: string, text: string, now: number): ReadRequest {
  if (text.length > MAX_QUERY) throw new DomainError("invalid", "The request is too long.");
  const given = new URLSearchParams(text);
  const query = new URLSearchParams();
  for (const [name, value] of given) if (PARAMETERS.includes(name) && value !== "") query.append(name, value);
  const resource = query.getAll("resource");
  if (resource.length === 1)
    query.set("resource", parseResource(issuer, resource[0] ?? "")?.audience ?? resource[0] ?? "");
  const scope = query.getAll("scope");
  if (scope.length === 1) query.set("scope", withoutOfflineAccess(scope[0] ?? ""));
  if (query.get("scope") === "") query.delete("scope");
  // Rejects the implicit flow, whose errors would be put into a fragment.
  if (query.has("response_type") && query.get("response_type") !== "code") query.set("response_type", "unsupported");
  // Other response modes need a script or leak the code.
  if (query.has("response_mode") && query.get("response_mode") !== "query") query.set("response_mode", "unsupported");
  const prompts = (query.get("prompt") ?? "").split(" ").filter((word) => word !== "");
  if (prompts.includes("none")) return { query, mustAsk: false, loginSince: undefined };
  const others = prompts.filter((word) => word !== "login" && word !== "consent");
  if (others.length > 0) query.set("prompt", others.join(" "));
  else query.delete("prompt");
  const askedAt = Number(given.get(ASKED_AT) ?? Number.NaN);
  const isRecent = askedAt <= now && askedAt > now - LOGIN_COUNTS_MS;
  const loginSince = prompts.includes("login") ? (isRecent ? askedAt : now) : undefined;
  return { query, mustAsk: prompts.includes("consent"), loginSince };
}

function readChoice(form: URLSearchParams): Choice {
  const word = form.get("decision");
  const decision = word === "approve" || word === "switch" ? word : "deny";
  const reach = form.get("reach");
  if (decision === "approve" && reach !== null && reach !== "all" && reach !== "chosen") {
    throw new DomainError("invalid", "Choose the connections.");
  }
  const ids = form.getAll("connection").filter((id) => /^[1-9][0-9]{0,9}$/.test(id));
  const connectionIds = reach === "chosen" ? ids.map(Number) : undefined;
  return { decision, accountId: form.get("account") ?? undefined, connectionIds };
}

function clientOrigin({ clientId, source }: AskedAuthorization["client"]): string {
  switch (source) {
    case "own":
      return "It was created by an account of this installation.";
    case "registered":
      return "It registered itself under this name; nobody has verified its identity.";
    case "document":
      return `Its name is stated by ${new URL(clientId).host}.`;
  }
}

function redirectWarning(uri: string): string | undefined {
  switch (redirectKind(uri)) {
    case "loopback":
      return "That is a program on this computer. Continue only if you have just started it yourself.";
    case "application":
      return "That is an application on this device. Continue only if you have just started it yourself.";
    default:
      return undefined;
  }
}

/** Routes of the authorization endpoint and the consent page. */
export function createAuthorizeRoutes(deps: AuthorizeDeps): readonly PageRoute[] {
  const { issuer, sessions, csrf, consent } = deps;

  /** The chosen account; before a choice, the one with the requested connection, or the person's own. */
  async function shownAccount(
    accounts: readonly [ActingAccount, ...ActingAccount[]],
    chosen: string | undefined,
    only: number | undefined,
  ): Promise<ActingAccount> {
    const known = accounts.find(({ accountId }) => accountId === chosen);
    if (known !== undefined || only === undefined) return known ?? accounts[0];
    for (const account of accounts) {
      if ((await consent.connectionsOf(account)).some(({ id }) => id === only)) return account;
    }
    return accounts[0];
  }

  async function show(
    exchange: HttpExchange,
    session: LoginSession,
    asked: AskedAuthorization,
    request: string,
    choice: Choice | undefined,
    error: string | undefined,
  ): Promise<void> {
    const accounts = await consent.accounts(session);
    const only = parseResource(issuer, asked.resource)?.connectionId;
    const account = await shownAccount(accounts, choice?.accountId, only);
    const [connections, last] = await Promise.all([consent.connectionsOf(account), consent.lastGrant(asked, account)]);
    const onlyConnection = connections.find(({ id }) => id === only);
    if (only !== undefined && onlyConnection === undefined) {
      throw new DomainError("not_found", `The client requests connection ${only}, which you do not have.`);
    }
    const failed = error === undefined ? undefined : choice;
    const proposed = failed === undefined ? last?.connectionIds : failed.connectionIds;
    const page = consentPage({
      action: CONSENT_PATH,
      csrfField: csrf.field(session),
      request,
      email: session.email,
      accounts: accounts.map(({ accountId, label }) => ({
        id: accountId,
        label,
        isShown: accountId === account.accountId,
      })),
      client: { name: asked.client.name ?? asked.client.clientId, origin: clientOrigin(asked.client) },
      redirect: { host: redirectHost(asked.redirectUri), warning: redirectWarning(asked.redirectUri) },
      scopes: consent.grantable(asked, account).map((scope) => SCOPE_WORDS[scope]),
      onlyConnection: onlyConnection?.name,
      connections: connections.map(({ id, name, serverType }) => ({
        id,
        name,
        kind: serverType,
        isChosen: proposed?.includes(id) ?? false,
      })),
      ...(error !== undefined && { error }),
    });
    const formTargets = [redirectSource(asked.redirectUri)];
    answerPage(exchange, error === undefined ? 200 : 400, page, { formTargets });
  }

  /** Runs a request through the provider and sends the response. `text` is the query as received. */
  async function answer(
    exchange: HttpExchange,
    text: string,
    choice: ((session: LoginSession) => Choice) | undefined,
  ): Promise<void> {
    const { query, mustAsk, loginSince } = readRequest(issuer, text, Date.now());
    const session = await sessions.read(exchange);
    const back = `${AUTHORIZE_PATH}?${loginSince === undefined ? text : withAskedAt(text, loginSince)}`;
    const logIn = (): void =>
      answerRedirect(exchange, loginAddress(back) + (loginSince === undefined ? "" : "&prompt=login"));
    // The document of an unknown client is fetched only for logged-in people.
    const isDocument = isDocumentAddress(query.get("client_id") ?? "");
    if (session === undefined && isDocument && query.get("prompt") !== "none") {
      logIn();
      return;
    }
    const chosen = session && choice?.(session);
    let failure: DomainError | undefined;
    const context: AuthorizationContext = {
      kind: "authorize",
      session,
      mustLogIn: session !== undefined && loginSince !== undefined && session.authenticatedAt.getTime() < loginSince,
      mustAsk,
      async decide(asked, who) {
        if (chosen === undefined) return consent.remembered(asked, who);
        try {
          return await consent.decide(asked, who, chosen, requestOrigin(exchange, deps.trustProxy));
        } catch (error) {
          // Errors in the person's choice are shown to the person and not sent to the client.
          if (!(error instanceof DomainError)) throw error;
          failure = error;
          return { kind: "ask" };
        }
      },
      prompt: undefined,
      asked: undefined,
      decision: undefined,
    };
    const outcome = await (await deps.provider()).authorize(query, context);
    if (outcome.kind === "refusal") {
      const message = `${outcome.description || outcome.error}. Nothing was sent to the client; report this to its operator.`;
      answerPage(exchange, outcome.status, messagePage({ title: "The client's request was rejected", message }));
    } else if (context.prompt === "login" && query.get("prompt") !== "none") {
      logIn();
    } else if (context.prompt === "consent" && query.get("prompt") !== "none" && context.asked && session) {
      if (failure !== undefined && failure.kind !== "invalid") throw failure;
      await show(exchange, session, context.asked, text, chosen, failure?.message);
    } else {
      answerRedirect(exchange, outcome.location);
    }
  }

  return [
    {
      path: AUTHORIZE_PATH,
      methods: {
        GET: (exchange, { query }) => answer(exchange, query, undefined),
      },
    },
    {
      path: CONSENT_PATH,
      methods: {
        async POST(exchange) {
          const form = await readBrowserForm(exchange, deps.trustProxy);
          const text = form.get("request") ?? "";
          await answer(exchange, text, (session) => {
            csrf.check(session, exchange, form);
            return readChoice(form);
          });
        },
      },
    },
  ];
}

/** Adds the time at which a login was requested to the request. */
function withAskedAt(text: string, moment: number): string {
  const query = new URLSearchParams(text);
  query.set(ASKED_AT, String(moment));
  return query.toString();
}
