import type { AuthorizationFlow, Person } from "../../connections/authorization/flow.ts";
import { AUTHORIZATIONS_PATH } from "../../connections/authorization/tickets.ts";
import { DomainError } from "../../domain-error.ts";
import { CALLBACK_PATH } from "../../integrations/oauth/client-document.ts";
import { TokenFailure } from "../../integrations/oauth/token-failure.ts";
import type { Csrf } from "./csrf.ts";
import type { LoginSession } from "../../identity/login/login-session.ts";
import type { LoginSessions } from "../../identity/login/login-sessions.ts";
import { type PageRoute, toRefusal } from "./page-routes.ts";
import { readBrowserForm } from "./read-form.ts";
import { loginAddress } from "./return-to.ts";
import type { HttpRequest, HttpResponse } from "../http/node-exchange.ts";
import { requestOrigin } from "../http/peer.ts";
import { authorizationPage } from "./authorization-page.ts";
import { messagePage } from "./message-page.ts";
import { sendPage, sendRedirect } from "./send-page.ts";

/** What the pages need. */
export interface AuthorizationPagesDeps {
  readonly sessions: LoginSessions;
  readonly csrf: Csrf;
  readonly flow: AuthorizationFlow;
  readonly trustProxy: boolean;
}

/** For finding the server, registering with it and redeeming a code, in milliseconds. */
const TIMEOUT_MS = 30_000;

const CONSOLE = { path: "/connections", text: "Go to your connections" };

/**
 * `/authorizations/<ticket>` and `/authorizations/callback[/<issuer>]`: a person goes to a third party and comes back with what is
 * redeemed for tokens. The ticket is used up by the form alone, which only this site's own page can send: neither a browser
 * that looks ahead nor another site begins anything.
 */
export function createAuthorizationRoutes(deps: AuthorizationPagesDeps): readonly PageRoute[] {
  const { sessions, csrf, flow } = deps;

  async function showForm(
    session: LoginSession,
    path: string,
    response: HttpResponse,
    failure?: TokenFailure,
  ): Promise<void> {
    const { connection, thirdParty } = await flow.look(toPerson(session), ticketIn(path));
    const page = authorizationPage({
      csrfField: csrf.field(session),
      action: path,
      connectionName: connection.name,
      thirdParty,
      email: session.email,
      ...(failure !== undefined && { error: failure.message }),
    });
    // Where the form leads to is known only once the third party has said so.
    sendPage(response, failure === undefined ? 200 : statusOf(failure), page, { formTargets: "any" });
  }

  async function finish(request: HttpRequest, response: HttpResponse, query: URLSearchParams): Promise<void> {
    const session = await sessions.read(request);
    if (session === undefined) {
      const message =
        "You are not logged in in this browser, so it is not the one in which this authorization began. Nothing was changed.";
      throw new DomainError("forbidden", message);
    }
    const { accountId, id: clientId } = session;
    const origin = requestOrigin(request, deps.trustProxy);
    const actor = { kind: "account", accountId, clientId, tokenId: undefined, ...origin } as const;
    try {
      const signal = AbortSignal.timeout(TIMEOUT_MS);
      const { id, name } = await flow.finish(
        toPerson(session),
        { path: pathOf(request), parameters: query },
        actor,
        signal,
      );
      const page = messagePage({
        title: `“${name}” is authorised`,
        message: "It is being checked now; its tools are there in a moment.",
        link: { path: `/connections/${id}`, text: "Go to the connection" },
      });
      sendPage(response, 200, page);
    } catch (error) {
      sendFailure(response, error);
    }
  }

  return [
    { path: CALLBACK_PATH, GET: finish },
    { path: `${CALLBACK_PATH}/*`, GET: finish },
    {
      path: `${AUTHORIZATIONS_PATH}/*`,
      async GET(request, response) {
        const path = pathOf(request);
        const session = await sessions.read(request);
        if (session === undefined) sendRedirect(response, loginAddress(path));
        else await showForm(session, path, response).catch((error: unknown) => sendFailure(response, error));
      },
      async POST(request, response) {
        const path = pathOf(request);
        const form = await readBrowserForm(request, deps.trustProxy);
        const session = await sessions.read(request);
        if (session === undefined) {
          sendRedirect(response, loginAddress(path));
          return;
        }
        csrf.check(session, request, form);
        try {
          const signal = AbortSignal.timeout(TIMEOUT_MS);
          const address = await flow.begin(toPerson(session), ticketIn(path), signal);
          sendRedirect(response, address.href);
        } catch (error) {
          const failure = isTimeout(error) ? tooSlow(error) : error;
          if (!(failure instanceof TokenFailure)) sendFailure(response, failure);
          else await showForm(session, path, response, failure);
        }
      },
    },
  ];
}

function toPerson({ accountId, id }: LoginSession): Person {
  return { accountId, sessionId: id };
}

function pathOf(request: HttpRequest): string {
  return (request.url ?? "").split("?", 1)[0] ?? "";
}

function ticketIn(path: string): string {
  return path.slice(AUTHORIZATIONS_PATH.length + 1);
}

/** The third party's fault is a 502 only to machines; proxies replace pages of 5xx by their own. */
function statusOf({ kind }: TokenFailure): number {
  return kind === "busy" ? 429 : 400;
}

/** What went wrong in words, with the way back to the console. What nobody expected is thrown on. */
function sendFailure(response: HttpResponse, thrown: unknown): void {
  const error = isTimeout(thrown) ? tooSlow(thrown) : thrown;
  if (error instanceof TokenFailure) {
    sendPage(response, statusOf(error), failurePage("The connection is not authorised", error.message));
    return;
  }
  if (!(error instanceof DomainError) || !["not_found", "conflict", "invalid"].includes(error.kind)) throw error;
  const { status, message } = toRefusal(error);
  const title = status === 404 ? "This address is no longer good" : "The connection is not authorised";
  sendPage(response, status, failurePage(title, message));
}

function isTimeout(error: unknown): error is DOMException {
  return error instanceof DOMException && error.name === "TimeoutError";
}

function tooSlow(cause: DOMException): TokenFailure {
  const message = `The third party did not answer within ${TIMEOUT_MS / 1_000} seconds. Try again later.`;
  return new TokenFailure("down", message, { cause });
}

function failurePage(title: string, message: string): string {
  return messagePage({ title, message, link: CONSOLE });
}
