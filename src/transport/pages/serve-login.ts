import { DomainError } from "../../domain-error.ts";
import type { HttpRequest, HttpResponse } from "../http/node-exchange.ts";
import { loginPage } from "./login-page.ts";
import { logoutForm } from "./logout-form.ts";
import { messagePage } from "./message-page.ts";
import { sendPage, sendRedirect } from "./send-page.ts";
import { randomId } from "../../identity/random.ts";
import type { Cookies } from "./cookies.ts";
import type { Csrf } from "./csrf.ts";
import type { LogIn } from "../../identity/login/log-in.ts";
import { originOf, type RecordLogin } from "../../identity/login/login-events.ts";
import type { LoginSessions } from "../../identity/login/login-sessions.ts";
import { betterAddress } from "./own-address.ts";
import { type PageRoute, toRefusal } from "./page-routes.ts";
import { readBrowserForm } from "./read-form.ts";
import { parseReturnTo } from "./return-to.ts";

/** What the login pages need. */
export interface LoginPagesDeps {
  readonly publicUrl: string;
  readonly sessions: LoginSessions;
  readonly csrf: Csrf;
  readonly cookies: Cookies;
  readonly logIn: LogIn;
  /** The name of the external provider, where there is one. */
  readonly providerName: string | undefined;
  readonly trustProxy: boolean;
  readonly record: RecordLogin;
}

/** Names a browser that is not logged in, so that another site cannot log it in with a form of its own. */
const BROWSER_COOKIE = "browser";
const BROWSER_ID = /^browser_[A-Za-z0-9_-]{22}$/;

/** `/login` and `/logout`. */
export function createLoginRoutes(deps: LoginPagesDeps): readonly PageRoute[] {
  const { sessions, csrf, cookies, trustProxy } = deps;

  /** What stands for the browser until it has a session; a new one unless it has one already. */
  function browserOf(request: HttpRequest, response: HttpResponse): { readonly id: string } {
    const known = cookies.read(request, BROWSER_COOKIE);
    if (known !== undefined && BROWSER_ID.test(known)) return { id: known };
    const id = randomId("browser_");
    cookies.set(response, BROWSER_COOKIE, id);
    return { id };
  }

  function show(
    request: HttpRequest,
    response: HttpResponse,
    page: { readonly returnTo: string; readonly email?: string; readonly error?: string; readonly notice?: string },
    status = 200,
    headers: Readonly<Record<string, string>> = {},
  ): void {
    const { providerName } = deps;
    const csrfField = csrf.field(browserOf(request, response));
    const path = `/login/external?${new URLSearchParams({ return_to: page.returnTo }).toString()}`;
    const provider = providerName === undefined ? undefined : { name: providerName, path };
    // A login on the way to an OAuth client ends, over redirects, at an address that is not known here.
    const formTargets = page.returnTo.startsWith("/oauth2/") ? ("any" as const) : [];
    sendPage(response, status, loginPage({ ...page, csrfField, provider }), { formTargets, headers });
  }

  async function submit(request: HttpRequest, response: HttpResponse): Promise<void> {
    const form = await readBrowserForm(request, trustProxy);
    const returnTo = parseReturnTo(form.get("return_to"));
    const email = (form.get("email") ?? "").trim();
    const origin = originOf(request, trustProxy);
    try {
      csrf.check(browserOf(request, response), request, form);
      const result = await deps.logIn({ email, password: form.get("password") ?? "", address: origin.address });
      const session = "refused" in result ? undefined : await sessions.begin(request, response, result);
      await deps.record({
        ...origin,
        action: "login",
        outcome: session === undefined ? "failure" : "success",
        method: "password",
        accountId: "refused" in result ? result.refused : result.accountId,
        sessionId: session?.id,
      });
      if (session === undefined) throw new DomainError("forbidden", "The e-mail address or the password is wrong.");
      cookies.clear(response, BROWSER_COOKIE);
      sendRedirect(response, returnTo);
    } catch (error) {
      const { status, message, headers } = toRefusal(error);
      if (status >= 500 && status !== 503) throw error;
      show(request, response, { returnTo, email: email.slice(0, 254), error: message }, status, headers);
    }
  }

  return [
    {
      path: "/login",
      async GET(request, response, query) {
        const better = betterAddress(request, deps.publicUrl);
        if (better !== undefined) {
          sendRedirect(response, better);
          return;
        }
        const returnTo = parseReturnTo(query.get("return_to"));
        const mustAsk = query.get("prompt") === "login";
        if (!mustAsk && (await sessions.read(request)) !== undefined) sendRedirect(response, returnTo);
        else {
          const notice = query.has("logged_out") ? { notice: "You are logged out." } : {};
          show(request, response, { returnTo, ...notice });
        }
      },
      POST: submit,
    },
    {
      path: "/logout",
      async GET(request, response) {
        const session = await sessions.read(request);
        if (session === undefined) {
          sendRedirect(response, "/login");
          return;
        }
        const message = `You are logged in as ${session.email}.`;
        const form = logoutForm(csrf.field(session));
        sendPage(response, 200, messagePage({ title: "Log out", message, form }));
      },
      async POST(request, response) {
        const form = await readBrowserForm(request, trustProxy);
        const session = await sessions.read(request);
        if (session !== undefined) {
          csrf.check(session, request, form);
          await sessions.end(request, response);
          await deps.record({
            ...originOf(request, trustProxy),
            action: "logout",
            outcome: "success",
            method: "session",
            accountId: session.accountId,
            sessionId: session.id,
          });
        }
        sendRedirect(response, "/login?logged_out");
      },
    },
  ];
}
