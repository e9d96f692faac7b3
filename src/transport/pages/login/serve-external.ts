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

/** Where the browser is sent to, and where the provider sends it back to. */
export const EXTERNAL_LOGIN_PATH = "/login/external";
/** The redirect URI's path, to be registered with the provider. */
export const EXTERNAL_CALLBACK_PATH = "/login/external/callback";

const COOKIE = "external";

/** What logging in through the provider needs. */
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

/** Logging in at the provider, and connecting its login to an account that there is. */
export function createExternalRoutes(deps: ExternalPagesDeps): readonly PageRoute[] {
  const { sessions, csrf, cookies, provider, flows, trustProxy } = deps;

  /** Begins a flow that this browser alone can finish. */
  function begin(exchange: HttpExchange, flow: Pick<ExternalFlow, "returnTo" | "linkSessionId">): ExternalChecks {
    const { checks, text } = flows.start(flow);
    cookies.set(exchange, COOKIE, text, EXTERNAL_FLOW_SECONDS);
    return checks;
  }

  async function finishLink(exchange: HttpExchange, flow: ExternalFlow, person: ExternalPerson): Promise<void> {
    const session = await sessions.read(exchange);
    if (session === undefined || session.id !== flow.linkSessionId) {
      throw new DomainError("forbidden", "You were logged out in the meantime. Log in and begin again.");
    }
    const { accountId, id: sessionId } = session;
    const isDone = await deps.identities.link(accountId, person);
    const outcome = isDone ? "success" : "failure";
    const origin = requestOrigin(exchange, trustProxy);
    await deps.record({ ...origin, action: "identity_link", method: "external", outcome, accountId, sessionId });
    if (!isDone) throw new DomainError("conflict", `This ${provider.name} login belongs to another account here.`);
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
    if (session === undefined) throw new DomainError("forbidden", "Your account here is not in use.");
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
          // A link, not a redirect: our policy lets a form lead to no other site.
          const page = messagePage({
            title: `Connect ${provider.name}`,
            message: `Log in there with the account that is to open ${session.email} here.`,
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
