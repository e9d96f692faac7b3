import type { AuthorizationFlow, Person } from "../../../connections/authorization/authorization-flow.ts";
import { AUTHORIZATIONS_PATH } from "../../../connections/authorization/tickets.ts";
import { DomainError } from "../../../domain-error.ts";
import { CALLBACK_PATH } from "../../../integrations/oauth/client-document.ts";
import { TokenFailure } from "../../../integrations/oauth/token-failure.ts";
import type { Csrf } from "../csrf.ts";
import type { LoginSession } from "../../../identity/login/login-session.ts";
import type { BrowserSessions } from "../login/browser-sessions.ts";
import { httpStatusOf, toFault } from "../../http/fault.ts";
import type { RouteHandler } from "../../http/router.ts";
import type { PageRoute } from "../serve-pages.ts";
import { readBrowserForm } from "../read-form.ts";
import { loginAddress } from "../login/return-to.ts";
import type { HttpExchange } from "../../http/exchange.ts";
import { requestOrigin } from "../../http/peer.ts";
import { authorizationPage } from "./authorization-page.ts";
import { messagePage } from "../message-page.ts";
import { answerPage, answerRedirect } from "../answer-page.ts";

export interface AuthorizationPagesDeps {
  readonly sessions: BrowserSessions;
  readonly csrf: Csrf;
  readonly flow: AuthorizationFlow;
  readonly trustProxy: boolean;
}

/** Time limit for discovery, registration and code redemption, in milliseconds. */
const TIMEOUT_MS = 30_000;

const CONSOLE = { path: "/connections", text: "Go to your connections" };

/**
 * Routes of `/authorizations/<ticket>` and `/authorizations/callback[/<issuer>]`: a person logs in at the upstream's
 * authorization server and returns with a code. Only the form on this site's own page consumes the ticket, so neither a
 * prefetching browser nor another site starts a login.
 */
export function createAuthorizationRoutes(deps: AuthorizationPagesDeps): readonly PageRoute[] {
  const { sessions, csrf, flow } = deps;

  async function showForm(
    session: LoginSession,
    path: string,
    exchange: HttpExchange,
    failure?: TokenFailure,
  ): Promise<void> {
    const { connection, upstreamName } = await flow.preview(toPerson(session), ticketIn(path));
    const page = authorizationPage({
      csrfField: csrf.field(session),
      action: path,
      connectionName: connection.name,
      upstreamName,
      email: session.email,
      ...(failure !== undefined && { error: failure.message }),
    });
    // The target of the form is known only after discovery.
    answerPage(exchange, failure === undefined ? 200 : statusOf(failure), page, { formTargets: "any" });
  }

  const finish: RouteHandler = async (exchange, { query }) => {
    const session = await sessions.read(exchange);
    if (session === undefined) {
      const message =
        "You are not logged in in this browser, so this authorization was not started here. Nothing was changed.";
      throw new DomainError("forbidden", message);
    }
    const { accountId, id: clientId } = session;
    const origin = requestOrigin(exchange, deps.trustProxy);
    const actor = { kind: "account", accountId, clientId, tokenId: undefined, ...origin } as const;
    try {
      const signal = AbortSignal.timeout(TIMEOUT_MS);
      const { id, name } = await flow.complete(
        toPerson(session),
        { path: pathOf(exchange), parameters: new URLSearchParams(query) },
        actor,
        signal,
      );
      const page = messagePage({
        title: `“${name}” is authorized`,
        message: "It is being verified; its tools will be available shortly.",
        link: { path: `/connections/${id}`, text: "Go to the connection" },
      });
      answerPage(exchange, 200, page);
    } catch (error) {
      sendFailure(exchange, error);
    }
  };

  return [
    { path: CALLBACK_PATH, methods: { GET: finish } },
    { path: `${CALLBACK_PATH}/*`, methods: { GET: finish } },
    {
      path: `${AUTHORIZATIONS_PATH}/*`,
      methods: {
        async GET(exchange) {
          const path = pathOf(exchange);
          const session = await sessions.read(exchange);
          if (session === undefined) answerRedirect(exchange, loginAddress(path));
          else await showForm(session, path, exchange).catch((error: unknown) => sendFailure(exchange, error));
        },
        async POST(exchange) {
          const path = pathOf(exchange);
          const form = await readBrowserForm(exchange, deps.trustProxy);
          const session = await sessions.read(exchange);
          if (session === undefined) {
            answerRedirect(exchange, loginAddress(path));
            return;
          }
          csrf.check(session, exchange, form);
          try {
            const signal = AbortSignal.timeout(TIMEOUT_MS);
            const address = await flow.start(toPerson(session), ticketIn(path), signal);
            answerRedirect(exchange, address.href);
          } catch (error) {
            const failure = isTimeout(error) ? tooSlow(error) : error;
            if (!(failure instanceof TokenFailure)) sendFailure(exchange, failure);
            else await showForm(session, path, exchange, failure);
          }
        },
      },
    },
  ];
}

function toPerson({ accountId, id }: LoginSession): Person {
  return { accountId, sessionId: id };
}

function pathOf(exchange: HttpExchange): string {
  return exchange.target.split("?", 1)[0] ?? "";
}

function ticketIn(path: string): string {
  return path.slice(AUTHORIZATIONS_PATH.length + 1);
}

/** A 502 is sent only to programs, because proxies replace pages of 5xx responses. */
function statusOf({ kind }: TokenFailure): number {
  return kind === "busy" ? 429 : 400;
}

/** The error as a page with a link to the console. Unexpected errors are rethrown. */
function sendFailure(exchange: HttpExchange, thrown: unknown): void {
  const error = isTimeout(thrown) ? tooSlow(thrown) : thrown;
  if (error instanceof TokenFailure) {
    answerPage(exchange, statusOf(error), failurePage("The connection is not authorized", error.message));
    return;
  }
  if (!(error instanceof DomainError) || !["not_found", "conflict", "invalid"].includes(error.kind)) throw error;
  const { kind, message } = error;
  const title = kind === "not_found" ? "This address is no longer valid" : "The connection is not authorized";
  answerPage(exchange, httpStatusOf(toFault(error)), failurePage(title, message));
}

function isTimeout(error: unknown): error is DOMException {
  return error instanceof DOMException && error.name === "TimeoutError";
}

function tooSlow(cause: DOMException): TokenFailure {
  const message = `The upstream did not answer within ${TIMEOUT_MS / 1_000} seconds. Try again later.`;
  return new TokenFailure("down", message, { cause });
}

function failurePage(title: string, message: string): string {
  return messagePage({ title, message, link: CONSOLE });
}
