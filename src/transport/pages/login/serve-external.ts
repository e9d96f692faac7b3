import { DomainError } from "../../../domain-error.ts";
import type { HttpExchange } from "../../http/exchange.ts";
import { messagePage } from "../message-page.ts";
import { answerPage, answerRedirect } from "../answer-page.ts";
import type { Cookies } from "../../http/cookies.ts";
import type { Csrf } from "../csrf.ts";
import { EXTERNAL_FLOW_SECONDS, type ExternalFlow, type ExternalFlows } from "../../../identity/login/external-flow.ts";
import type { ExternalIdentityStore } from "../../../identity/login/external-identity.ts";
import type { ExternalChecks, ExternalPerson, ExternalProvider } from "../../../identity/login/external-provider.ts";
import type { LogInExternally } from "../../../identity/login/log-in-externally.ts";
import type { RecordLogin } from "../../../identity/login/login-events.ts";
import { requestOrigin } from "../../http/peer.ts";
import type { BrowserSessions } from "./browser-sessions.ts";
import type { PageRoute } from "../serve-pages.ts";
import { readBrowserForm } from "../read-form.ts";
import { HOME_PATH, loginAddress, parseReturnTo } from "./return-to.ts";

/** Path that redirects the browser to the provider. */
const EXTERNAL_LOGIN_PATH = "/login/external";
/** Path of the redirect URI, to be registered with the provider. */
export const EXTERNAL_CALLBACK_PATH = "/login/external/callback";

const COOKIE = "external";

export interface ExternalPagesDeps {
  /** `PUBLIC_URL`. */
  readonly publicUrl: string;
  readonly sessions: BrowserSessions;
  readonly csrf: Csrf;
  readonly cookies: Cookies;
  readonly provider: ExternalProvider;
  readonly flows: ExternalFlows;
  readonly logIn: LogInExternally;
  readonly identities: Pick<ExternalIdentityStore, "link">;
  readonly trustProxy: boolean;
  readonly record: RecordLogin;
}

/** Routes for logging in at the provider, and for linking its login to an existing account. */
export function createExternalRoutes(deps: ExternalPagesDeps): readonly PageRoute[] {
  const { sessions, csrf, cookies, provider, flows, trustProxy } = deps;

  /** Starts a flow that only this browser can finish. */
  function begin(exchange: HttpExchange, flow: Pick<ExternalFlow, "returnTo" | "linkSessionId">): ExternalChecks {
    const { checks, text } = flows.start(flow);
    cookies.set(exchange, COOKIE, text, EXTERNAL_FLOW_SECONDS);
    return checks;
  }

  async function finishLink(exchange: HttpExchange, flow: ExternalFlow, person: ExternalPerson): Promise<void> {
    const session = await sessions.read(exchange);
    if (session === undefined || session.id !== flow.linkSessionId) {
      throw new DomainError("forbidden", "You were logged out meanwhile. Log in and start again.");
    }
    const { accountId, id: sessionId } = session;
    const isDone = await deps.identities.link(accountId, person);
    const outcome = isDone ? "success" : "failure";
    const origin = requestOrigin(exchange, trustProxy);
    await deps.record({ ...origin, action: "identity_link", method: "external", outcome, accountId, sessionId });
    if (!isDone) throw new DomainError("conflict", `This ${provider.name} login is linked to another account.`);
    answerRedirect(exchange, `${HOME_PATH}?done=linked`);
  }

  async function finishLogin(exchange: HttpExchange, flow: ExternalFlow, person: ExternalPerson): Promise<void> {
    const { accountId } = await deps.logIn(person);
    const session = await sessions.begin(exchange, { accountId });
    const event = { ...requestOrigin(exchange, trustProxy), action: "login", method: "external", accountId } as const;
    await deps.record({
      ...event,
      outcome: session === undefined ? "failure" : "success",
      sessionId: session?.id,
    });
    if (session === undefined) throw new DomainError("forbidden", "Your account is disabled.");
    answerRedirect(exchange, parseReturnTo(flow.returnTo));
  }

  return [
    {
      path: EXTERNAL_LOGIN_PATH,
      methods: {
        async GET(exchange, { query }) {
          const returnTo = parseReturnTo(new URLSearchParams(query).get("return_to"));
          const checks = begin(exchange, { returnTo, linkSessionId: undefined });
          answerRedirect(exchange, await provider.authorizationUrl(checks));
        },
        async POST(exchange) {
          const form = await readBrowserForm(exchange, trustProxy);
          const session = await sessions.read(exchange);
          if (session === undefined) {
            answerRedirect(exchange, loginAddress(HOME_PATH));
            return;
          }
          csrf.check(session, exchange, form);
          const checks = begin(exchange, { returnTo: HOME_PATH, linkSessionId: session.id });
          // A link instead of a redirect, because our policy does not let a form lead to another site.
          const page = messagePage({
            title: `Connect ${provider.name}`,
            message: `Log in there with the login that should be linked to ${session.email}.`,
            link: { path: await provider.authorizationUrl(checks), text: `Go to ${provider.name}` },
          });
          answerPage(exchange, 200, page);
        },
      },
    },
    {
      path: EXTERNAL_CALLBACK_PATH,
      methods: {
        async GET(exchange) {
          const text = cookies.read(exchange, COOKIE);
          cookies.clear(exchange, COOKIE);
          const flow = flows.complete(text);
          const person = await provider.redeem(new URL(exchange.target, deps.publicUrl), flow.checks);
          if (flow.linkSessionId === undefined) await finishLogin(exchange, flow, person);
          else await finishLink(exchange, flow, person);
        },
      },
    },
  ];
}
