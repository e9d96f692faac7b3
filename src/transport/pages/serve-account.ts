import { accountPage } from "./account-page.ts";
import { passwordPage } from "./password-page.ts";
import { sendPage, sendRedirect } from "./send-page.ts";
import type { HttpRequest, HttpResponse } from "../http/node-exchange.ts";
import { DomainError } from "../../domain-error.ts";
import { type ChangePassword, PASSWORD_LENGTH } from "../../identity/login/change-password.ts";
import type { CredentialStore } from "../../identity/login/credentials.ts";
import type { Csrf } from "./csrf.ts";
import { originOf, type RecordLogin } from "../../identity/login/login-events.ts";
import type { LoginSession } from "../../identity/login/login-session.ts";
import type { LoginSessions } from "../../identity/login/login-sessions.ts";
import { type PageHandler, type PageRoute, toRefusal } from "./page-routes.ts";
import { readBrowserForm } from "./read-form.ts";
import { HOME_PATH, loginAddress } from "./return-to.ts";

/** What the account pages need. */
export interface AccountPagesDeps {
  readonly sessions: LoginSessions;
  readonly csrf: Csrf;
  readonly credentials: Pick<CredentialStore, "findByAccount">;
  readonly changePassword: ChangePassword;
  /** The external provider, where there is one. */
  readonly provider: { readonly name: string; readonly isLinked: (accountId: string) => Promise<boolean> } | undefined;
  readonly trustProxy: boolean;
  readonly record: RecordLogin;
}

const NOTICES: Readonly<Record<string, string>> = {
  password: "Your password is changed, and every other browser is logged out.",
  linked: "You can log in this way from now on.",
};

/** `/account` and `/account/password`: who is logged in, and a new password. */
export function createAccountRoutes(deps: AccountPagesDeps): readonly PageRoute[] {
  const { sessions, csrf } = deps;

  type SessionHandler = (
    session: LoginSession,
    request: HttpRequest,
    response: HttpResponse,
    query: URLSearchParams,
  ) => Promise<void>;

  /** Has people log in first, and come back. */
  function forSession(path: string, handler: SessionHandler): PageHandler {
    return async (request, response, query) => {
      const session = await sessions.read(request);
      if (session === undefined) sendRedirect(response, loginAddress(path));
      else await handler(session, request, response, query);
    };
  }

  async function hasPassword(session: LoginSession): Promise<boolean> {
    return ((await deps.credentials.findByAccount(session.accountId))?.passwordHash ?? "") !== "";
  }

  function showPasswordForm(
    session: LoginSession,
    response: HttpResponse,
    status: number,
    problem: { readonly error?: string; readonly wrongField?: string | undefined },
    headers: Readonly<Record<string, string>> = {},
  ): void {
    const csrfField = csrf.field(session);
    const page = passwordPage({ csrfField, email: session.email, length: PASSWORD_LENGTH, ...problem });
    sendPage(response, status, page, { headers });
  }

  return [
    {
      path: HOME_PATH,
      GET: forSession(HOME_PATH, async (session, _request, response, query) => {
        const { provider } = deps;
        const { email, isAdmin, accountId } = session;
        const notice = NOTICES[query.get("done") ?? ""];
        const page = accountPage({
          csrfField: csrf.field(session),
          email,
          isAdmin,
          hasPassword: await hasPassword(session),
          notice,
          provider: provider && { name: provider.name, isConnected: await provider.isLinked(accountId) },
        });
        sendPage(response, 200, page);
      }),
    },
    {
      path: "/account/password",
      GET: forSession("/account/password", async (session, _request, response) => {
        if (await hasPassword(session)) showPasswordForm(session, response, 200, {});
        else sendRedirect(response, HOME_PATH);
      }),
      POST: forSession("/account/password", async (session, request, response) => {
        const form = await readBrowserForm(request, deps.trustProxy);
        const origin = originOf(request, deps.trustProxy);
        const event = {
          ...origin,
          action: "password_change",
          method: "session",
          accountId: session.accountId,
          sessionId: session.id,
        } as const;
        try {
          csrf.check(session, request, form);
          await deps.changePassword(session, {
            current: form.get("current") ?? "",
            next: form.get("next") ?? "",
            repeated: form.get("repeated") ?? "",
            address: origin.address,
          });
          await deps.record({ ...event, outcome: "success" });
          sendRedirect(response, `${HOME_PATH}?done=password`);
        } catch (error) {
          const { status, message, headers } = toRefusal(error);
          if (status >= 500 && status !== 503) throw error;
          await deps.record({ ...event, outcome: "failure" });
          const wrongField = error instanceof DomainError ? error.field : undefined;
          showPasswordForm(session, response, status, { error: message, wrongField }, headers);
        }
      }),
    },
  ];
}
