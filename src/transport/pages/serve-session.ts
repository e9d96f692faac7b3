import { DomainError, invalid } from "../../domain-error.ts";
import { isJsonObject, type JsonObject, parseJson } from "../../json.ts";
import { type HttpRequest, readForm, sendJson, singleHeader } from "../http/node-exchange.ts";
import { isConfidential } from "../http/peer.ts";
import type { Csrf } from "./csrf.ts";
import type { LoginSession } from "../../identity/login/login-session.ts";
import type { LoginSessions } from "../../identity/login/login-sessions.ts";
import type { PageRoute } from "./page-routes.ts";
import type { IssueSessionToken } from "../../identity/login/session-token.ts";

/** What scripts of our own pages are answered with. */
export interface SessionRoutesDeps {
  readonly sessions: LoginSessions;
  readonly csrf: Csrf;
  readonly issueToken: IssueSessionToken;
  readonly trustProxy: boolean;
}

const JSON_TYPE = /^application\/json\s*(;|$)/i;
const NO_STORE = { "cache-control": "no-store" };

async function readBody(request: HttpRequest): Promise<JsonObject> {
  if (!JSON_TYPE.test(singleHeader(request, "content-type") ?? "")) {
    throw invalid("content-type", "The body is JSON: send Content-Type application/json.");
  }
  const text = await readForm(request);
  try {
    const body = parseJson(text === "" ? "{}" : text, { maxDepth: 8 });
    if (isJsonObject(body)) return body;
  } catch {
    // Said below.
  }
  throw invalid("body", "The body is one JSON object.");
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

  async function requireSession(request: HttpRequest): Promise<LoginSession> {
    const session = await sessions.read(request);
    if (session === undefined) throw new DomainError("unauthenticated", "You are not logged in.");
    return session;
  }

  /** A custom content type or method makes a browser ask us first, and we never allow it; the header says so once more. */
  function requireOwnPage(request: HttpRequest): void {
    if (request.headers.origin === undefined)
      throw new DomainError("forbidden", "This address is for pages of this site: the Origin header is missing.");
    csrf.checkOrigin(request);
  }

  return [
    {
      path: "/session",
      isJson: true,
      async GET(request, response) {
        const { accountId, email, isAdmin, authenticatedAt, expiresAt } = await requireSession(request);
        const body = {
          account_id: accountId,
          email,
          is_admin: isAdmin,
          authenticated_at: authenticatedAt.toISOString(),
          expires_at: expiresAt.toISOString(),
        };
        sendJson(response, 200, body, NO_STORE);
      },
      async DELETE(request, response) {
        requireOwnPage(request);
        await sessions.end(request, response);
        response.statusCode = 204;
        response.setHeader("cache-control", "no-store");
        response.end();
      },
    },
    {
      path: "/session/token",
      isJson: true,
      async POST(request, response) {
        requireOwnPage(request);
        if (!isConfidential(request, deps.trustProxy)) throw invalid("scheme", "Tokens are given over https alone.");
        const session = await requireSession(request);
        const { scope } = await readBody(request);
        if (scope !== undefined && typeof scope !== "string") throw invalid("scope", "scope is a text.");
        sendJson(response, 200, await deps.issueToken(session, scope), { ...NO_STORE, pragma: "no-cache" });
      },
    },
  ];
}
