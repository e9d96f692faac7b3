import { DomainError, invalid } from "../../../domain-error.ts";
import { answerJson } from "../../http/answer.ts";
import type { HttpExchange } from "../../http/exchange.ts";
import { isConfidential } from "../../http/peer.ts";
import { readJsonForm } from "../../http/read-body.ts";
import type { Csrf } from "../csrf.ts";
import type { LoginSession } from "../../../identity/login/login-session.ts";
import type { BrowserSessions } from "./browser-sessions.ts";
import type { PageRoute } from "../serve-pages.ts";
import type { ListActingAccounts } from "../../../identity/oauth/acting-account.ts";
import type { IssueSessionToken } from "../../../identity/login/session-token.ts";

/** Headers of responses to scripts of our own pages. */
export interface SessionRoutesDeps {
  readonly sessions: BrowserSessions;
  readonly csrf: Csrf;
  readonly issueToken: IssueSessionToken;
  readonly actingAccounts: ListActingAccounts;
  readonly trustProxy: boolean;
}

/**
 * Routes for scripts of our own pages, not part of the API's contract. They have only the session cookie and must send
 * `Origin`, which excludes other sites. `GET /session`: the logged-in account and its organizations, or 401. `POST /session/token` (JSON,
 * optionally `{scope, account_id}`): a bearer token for ten minutes. `DELETE /session`: logs out.
 */
export function createSessionRoutes(deps: SessionRoutesDeps): readonly PageRoute[] {
  const { sessions, csrf } = deps;

  async function requireSession(exchange: HttpExchange): Promise<LoginSession> {
    const session = await sessions.read(exchange);
    if (session === undefined) throw new DomainError("unauthenticated", "You are not logged in.");
    return session;
  }

  /**
   * A custom content type or method triggers a preflight, which is never allowed; the Origin check is a second defense.
   */
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
          const session = await requireSession(exchange);
          const { accountId, email, isAdmin, authenticatedAt, expiresAt } = session;
          const [, ...organizations] = await deps.actingAccounts(session);
          const body = {
            account_id: accountId,
            email,
            is_admin: isAdmin,
            organizations: organizations.map(({ accountId: id, label: name, role }) => ({ id, name, role })),
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
          if (!isConfidential(exchange, deps.trustProxy)) throw invalid("scheme", "Tokens are issued only over https.");
          const session = await requireSession(exchange);
          const { scope, account_id: accountId } = (await readJsonForm(exchange)) ?? {};
          if (scope !== undefined && typeof scope !== "string") throw invalid("scope", "scope must be a string.");
          if (accountId !== undefined && typeof accountId !== "string")
            throw invalid("account_id", "account_id must be a string.");
          answerJson(exchange, 200, await deps.issueToken(session, { scope, accountId }), { pragma: "no-cache" });
        },
      },
    },
  ];
}
