import { DomainError } from "../../../domain-error.ts";
import type { HttpExchange } from "../../http/exchange.ts";
import { loginPage } from "./login-page.ts";
import { logoutForm } from "./logout-form.ts";
import { messagePage } from "../message-page.ts";
import { answerPage, answerRedirect } from "../answer-page.ts";
import { randomId } from "../../../identity/random.ts";
import type { Cookies } from "../../http/cookies.ts";
import type { Csrf } from "../csrf.ts";
import type { LogIn } from "../../../identity/login/log-in.ts";
import type { RecordLogin } from "../../../identity/login/login-events.ts";
import { httpStatusOf } from "../../http/fault.ts";
import { clientAddress, requestOrigin } from "../../http/peer.ts";
import type { BrowserSessions } from "./browser-sessions.ts";
import { betterAddress } from "../own-address.ts";
import { type PageRoute, toPageFault } from "../serve-pages.ts";
import { readBrowserForm } from "../read-form.ts";
import { parseReturnTo } from "./return-to.ts";

export interface LoginPagesDeps {
  readonly publicUrl: string;
  readonly sessions: BrowserSessions;
  readonly csrf: Csrf;
  readonly cookies: Cookies;
  readonly logIn: LogIn;
  /** The name of the external provider, if configured. */
  readonly providerName: string | undefined;
  readonly trustProxy: boolean;
  readonly record: RecordLogin;
}

/** Identifies a browser that is not logged in, so that another site cannot log it in with its own form. */
const BROWSER_COOKIE = "browser";
const BROWSER_ID = /^browser_[A-Za-z0-9_-]{22}$/;

/** Routes of `/login` and `/logout`. */
export function createLoginRoutes(deps: LoginPagesDeps): readonly PageRoute[] {
  const { sessions, csrf, cookies, trustProxy } = deps;

  /** Returns the cookie that identifies a browser without a session, or creates one. */
  function browserOf(exchange: HttpExchange): { readonly id: string } {
    const known = cookies.read(exchange, BROWSER_COOKIE);
    if (known !== undefined && BROWSER_ID.test(known)) return { id: known };
    const id = randomId("browser_");
    cookies.set(exchange, BROWSER_COOKIE, id);
    return { id };
  }

  function show(
    exchange: HttpExchange,
    page: { readonly returnTo: string; readonly email?: string; readonly error?: string; readonly notice?: string },
    status = 200,
    headers: Readonly<Record<string, string>> = {},
  ): void {
    const { providerName } = deps;
    const csrfField = csrf.field(browserOf(exchange));
    const path = `/login/external?${new URLSearchParams({ return_to: page.returnTo }).toString()}`;
    const provider = providerName === undefined ? undefined : { name: providerName, path };
    // After a login for an OAuth client, redirects lead to an address that is not known here.
    const formTargets = page.returnTo.startsWith("/oauth2/") ? ("any" as const) : [];
    answerPage(exchange, status, loginPage({ ...page, csrfField, provider }), { formTargets, headers });
  }

  async function submit(exchange: HttpExchange): Promise<void> {
    const form = await readBrowserForm(exchange, trustProxy);
    const returnTo = parseReturnTo(form.get("return_to"));
    const email = (form.get("email") ?? "").trim();
    const origin = requestOrigin(exchange, trustProxy);
    try {
      csrf.check(browserOf(exchange), exchange, form);
      const result = await deps.logIn({
        email,
        password: form.get("password") ?? "",
        address: clientAddress(exchange, trustProxy),
      });
      const session = "refused" in result ? undefined : await sessions.begin(exchange, result);
      await deps.record({
        ...origin,
        action: "login",
        outcome: session === undefined ? "failure" : "success",
        method: "password",
        accountId: "refused" in result ? result.refused : result.accountId,
        sessionId: session?.id,
      });
      if (session === undefined) throw new DomainError("forbidden", "The e-mail address or the password is wrong.");
      cookies.clear(exchange, BROWSER_COOKIE);
      answerRedirect(exchange, returnTo);
    } catch (error) {
      const fault = toPageFault(error);
      if (fault.kind === "internal") throw error;
      show(
        exchange,
        { returnTo, email: email.slice(0, 254), error: fault.message },
        httpStatusOf(fault),
        fault.headers,
      );
    }
  }

  return [
    {
      path: "/login",
      methods: {
        async GET(exchange, { query }) {
          const parameters = new URLSearchParams(query);
          const better = betterAddress(exchange, deps.publicUrl);
          if (better !== undefined) {
            answerRedirect(exchange, better);
            return;
          }
          const returnTo = parseReturnTo(parameters.get("return_to"));
          const mustAsk = parameters.get("prompt") === "login";
          if (!mustAsk && (await sessions.read(exchange)) !== undefined) answerRedirect(exchange, returnTo);
          else {
            const notice = parameters.has("logged_out") ? { notice: "You are logged out." } : {};
            show(exchange, { returnTo, ...notice });
          }
        },
        POST: submit,
      },
    },
    {
      path: "/logout",
      methods: {
        async GET(exchange) {
          const session = await sessions.read(exchange);
          if (session === undefined) {
            answerRedirect(exchange, "/login");
            return;
          }
          const message = `You are logged in as ${session.email}.`;
          const form = logoutForm(csrf.field(session));
          answerPage(exchange, 200, messagePage({ title: "Log out", message, form }));
        },
        async POST(exchange) {
          const form = await readBrowserForm(exchange, trustProxy);
          const session = await sessions.read(exchange);
          if (session !== undefined) {
            csrf.check(session, exchange, form);
            await sessions.end(exchange);
            await deps.record({
              ...requestOrigin(exchange, trustProxy),
              action: "logout",
              outcome: "success",
              method: "session",
              accountId: session.accountId,
              sessionId: session.id,
            });
          }
          answerRedirect(exchange, "/login?logged_out");
        },
      },
    },
  ];
}
