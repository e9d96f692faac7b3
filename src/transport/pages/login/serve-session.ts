import { DomainError, invalid } from "../../../domain-error.ts";
import { answerJson } from "../../http/answer.ts";
import type { HttpExchange } from "../../http/exchange.ts";
import { isConfidential } from "../../http/peer.ts";
import { readJsonForm } from "../../http/read-body.ts";
import type { Csrf } from "../csrf.ts";
import type { LoginSession } from "../../../identity/login/login-session.ts";
import type { BrowserSessions } from "./browser-sessions.ts";
import type { PageRoute } from "../serve-pages.ts";
import type { IssueSessionToken } from "../../../identity/login/session-token.ts";

/** What scripts of our own pages are answered with. */
export interface SessionRoutesDeps {
  readonly sessions: BrowserSessions;
  readonly csrf: Csrf;
  readonly issueToken: IssueSessionToken;
  readonly trustProxy: boolean;
}

/**
 * For scripts of our own pages, not part of the API's contract: they have the session's cookie and nothing else, and are
 * told apart from foreign pages by `Origin`, which they must send.
 *
 * `GET /session`: who is logged in, or 401. `POST /session/token` (JSON, optionally `{scope}`): a bearer token of ten
 * minutes. `DELETE /session`: logs out.
 */
export function createSessionRoutes(deps: SessionRoutesDeps): readonly PageRoute[] {
  const { sessions, csrf } = deps;

  async function requireSession(exchange: HttpExchange): Promise<LoginSession> {
    const session = await sessions.read(exchange);
    if (session === undefined) throw new DomainError("unauthenticated", "You are not logged in.");
    return session;
  }

  /** A custom content type or method makes a browser ask us first, and we never allow it; the header says so once more. */
  function requireOwnPage(exchange: HttpExchange): void {
    if (exchange.headers.origin === undefined)
      throw new DomainError("forbidden", "This address is for pages of this site: the Origin header is missing.");
    csrf.checkOrigin(exchange);
  }

  return [
    {
      path: "/session",
      isJson: true,
      methods: {
        async GET(exchange) {
          const { accountId, email, isAdmin, authenticatedAt, expiresAt } = await requireSession(exchange);
          const body = {
            account_id: accountId,
            email,
            is_admin: isAdmin,
            authenticated_at: authenticatedAt.toISOString(),
            expires_at: expiresAt.toISOString(),
          };
          answerJson(exchange, 200, body);
        },
        async DELETE(exchange) {
          requireOwnPage(exchange);
          await sessions.end(exchange);
          exchange.respond(204, { "cache-control": "no-store" }, "");
        },
      },
    },
    {
      path: "/session/token",
      isJson: true,
      methods: {
        async POST(exchange) {
          requireOwnPage(exchange);
          if (!isConfidential(exchange, deps.trustProxy)) throw invalid("scheme", "Tokens are given over https alone.");
          const session = await requireSession(exchange);
          const { scope } = (await readJsonForm(exchange)) ?? {};
          if (scope !== undefined && typeof scope !== "string") throw invalid("scope", "scope is a text.");
          answerJson(exchange, 200, await deps.issueToken(session, scope), { pragma: "no-cache" });
        },
      },
    },
  ];
}
