import { accountPage } from "./account-page.ts";
import { passwordPage } from "../login/password-page.ts";
import { answerPage, answerRedirect } from "../answer-page.ts";
import type { HttpExchange } from "../../http/exchange.ts";
import { type ChangePassword, PASSWORD_LENGTH } from "../../../identity/login/change-password.ts";
import type { CredentialStore } from "../../../identity/login/credentials.ts";
import type { Csrf } from "../csrf.ts";
import type { RecordLogin } from "../../../identity/login/login-events.ts";
import { httpStatusOf } from "../../http/fault.ts";
import { clientAddress, requestOrigin } from "../../http/peer.ts";
import type { LoginSession } from "../../../identity/login/login-session.ts";
import type { BrowserSessions } from "../login/browser-sessions.ts";
import type { RouteHandler } from "../../http/router.ts";
import { type PageRoute, toPageFault } from "../serve-pages.ts";
import { readBrowserForm } from "../read-form.ts";
import { HOME_PATH, loginAddress } from "../login/return-to.ts";

export interface AccountPagesDeps {
  readonly sessions: BrowserSessions;
  readonly csrf: Csrf;
  readonly credentials: Pick<CredentialStore, "findByAccount">;
  readonly changePassword: ChangePassword;
  /** The external provider, if configured. */
  readonly provider: { readonly name: string; readonly isLinked: (accountId: string) => Promise<boolean> } | undefined;
  readonly trustProxy: boolean;
  readonly record: RecordLogin;
}

const NOTICES: Readonly<Record<string, string>> = {
  password: "Your password was changed, and every other browser was logged out.",
  linked: "You can now log in this way.",
};

/** Routes of `/account` and `/account/password`. */
export function createAccountRoutes(deps: AccountPagesDeps): readonly PageRoute[] {
  const { sessions, csrf } = deps;

  type SessionHandler = (session: LoginSession, exchange: HttpExchange, query: string) => Promise<void>;

  /** Redirects to the login page, which leads back here. */
  function forSession(path: string, handler: SessionHandler): RouteHandler {
    return async (exchange, { query }) => {
      const session = await sessions.read(exchange);
      if (session === undefined) answerRedirect(exchange, loginAddress(path));
      else await handler(session, exchange, query);
    };
  }

  async function hasPassword(session: LoginSession): Promise<boolean> {
    return ((await deps.credentials.findByAccount(session.accountId))?.passwordHash ?? "") !== "";
  }

  function showPasswordForm(
    session: LoginSession,
    exchange: HttpExchange,
    status: number,
    problem: { readonly error?: string; readonly wrongField?: string | undefined },
    headers: Readonly<Record<string, string>> = {},
  ): void {
    const csrfField = csrf.field(session);
    const page = passwordPage({ csrfField, email: session.email, length: PASSWORD_LENGTH, ...problem });
    answerPage(exchange, status, page, { headers });
  }

  return [
    {
      path: HOME_PATH,
      methods: {
        GET: forSession(HOME_PATH, async (session, exchange, query) => {
          const { provider } = deps;
          const { email, isAdmin, accountId } = session;
          const notice = NOTICES[new URLSearchParams(query).get("done") ?? ""];
          const page = accountPage({
            csrfField: csrf.field(session),
            email,
            isAdmin,
            hasPassword: await hasPassword(session),
            notice,
            provider: provider && { name: provider.name, isConnected: await provider.isLinked(accountId) },
          });
          answerPage(exchange, 200, page);
        }),
      },
    },
    {
      path: "/account/password",
      methods: {
        GET: forSession("/account/password", async (session, exchange) => {
          if (await hasPassword(session)) showPasswordForm(session, exchange, 200, {});
          else answerRedirect(exchange, HOME_PATH);
        }),
        POST: forSession("/account/password", async (session, exchange) => {
          const form = await readBrowserForm(exchange, deps.trustProxy);
          const origin = requestOrigin(exchange, deps.trustProxy);
          const event = {
            ...origin,
            action: "password_change",
            method: "session",
            accountId: session.accountId,
            sessionId: session.id,
          } as const;
          try {
            csrf.check(session, exchange, form);
            await deps.changePassword(session, {
              current: form.get("current") ?? "",
              next: form.get("next") ?? "",
              repeated: form.get("repeated") ?? "",
              address: clientAddress(exchange, deps.trustProxy),
            });
            await deps.record({ ...event, outcome: "success" });
            answerRedirect(exchange, `${HOME_PATH}?done=password`);
          } catch (error) {
            const fault = toPageFault(error);
            if (fault.kind === "internal") throw error;
            await deps.record({ ...event, outcome: "failure" });
            const problem = { error: fault.message, wrongField: fault.field };
            showPasswordForm(session, exchange, httpStatusOf(fault), problem, fault.headers);
          }
        }),
      },
    },
  ];
}
