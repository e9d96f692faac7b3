import { DomainError } from "../../domain-error.ts";
import type { HttpRequest, HttpResponse } from "../http/node-exchange.ts";
import { messagePage } from "./message-page.ts";
import { sendPage, sendRedirect } from "./send-page.ts";
import type { Csrf } from "./csrf.ts";
import type { ExternalFlow, ExternalFlows } from "../../identity/login/external-flow.ts";
import type { ExternalIdentityStore } from "../../identity/login/external-identity.ts";
import type { ExternalPerson, ExternalProvider } from "../../identity/login/external-provider.ts";
import type { LogInExternally } from "../../identity/login/log-in-externally.ts";
import { originOf, type RecordLogin } from "../../identity/login/login-events.ts";
import type { LoginSessions } from "../../identity/login/login-sessions.ts";
import type { PageRoute } from "./page-routes.ts";
import { readBrowserForm } from "./read-form.ts";
import { HOME_PATH, loginAddress, parseReturnTo } from "./return-to.ts";

/** Where the browser is sent to, and where the provider sends it back to. */
export const EXTERNAL_LOGIN_PATH = "/login/external";
/** The redirect URI's path, to be registered with the provider. */
export const EXTERNAL_CALLBACK_PATH = "/login/external/callback";

/** What logging in through the provider needs. */
export interface ExternalPagesDeps {
  /** `PUBLIC_URL`. */
  readonly publicUrl: string;
  readonly sessions: LoginSessions;
  readonly csrf: Csrf;
  readonly provider: ExternalProvider;
  readonly flows: ExternalFlows;
  readonly logIn: LogInExternally;
  readonly identities: Pick<ExternalIdentityStore, "link">;
  readonly trustProxy: boolean;
  readonly record: RecordLogin;
}

/** Logging in at the provider, and connecting its login to an account that there is. */
export function createExternalRoutes(deps: ExternalPagesDeps): readonly PageRoute[] {
  const { sessions, csrf, provider, flows, trustProxy } = deps;

  async function finishLink(
    request: HttpRequest,
    response: HttpResponse,
    flow: ExternalFlow,
    person: ExternalPerson,
  ): Promise<void> {
    const session = await sessions.read(request);
    if (session === undefined || session.id !== flow.linkSessionId) {
      throw new DomainError("forbidden", "You were logged out in the meantime. Log in and begin again.");
    }
    const { accountId, id: sessionId } = session;
    const isDone = await deps.identities.link(accountId, person);
    const outcome = isDone ? "success" : "failure";
    const origin = originOf(request, trustProxy);
    await deps.record({ ...origin, action: "identity_link", method: "external", outcome, accountId, sessionId });
    if (!isDone) throw new DomainError("conflict", `This ${provider.name} login belongs to another account here.`);
    sendRedirect(response, `${HOME_PATH}?done=linked`);
  }

  async function finishLogin(
    request: HttpRequest,
    response: HttpResponse,
    flow: ExternalFlow,
    person: ExternalPerson,
  ): Promise<void> {
    const { accountId } = await deps.logIn(person);
    const session = await sessions.begin(request, response, { accountId });
    const event = { ...originOf(request, trustProxy), action: "login", method: "external", accountId } as const;
    await deps.record({
      ...event,
      outcome: session === undefined ? "failure" : "success",
      sessionId: session?.id,
    });
    if (session === undefined) throw new DomainError("forbidden", "Your account here is not in use.");
    sendRedirect(response, parseReturnTo(flow.returnTo));
  }

  return [
    {
      path: EXTERNAL_LOGIN_PATH,
      async GET(_request, response, query) {
        const returnTo = parseReturnTo(query.get("return_to"));
        const { checks } = flows.begin(response, { returnTo, linkSessionId: undefined });
        sendRedirect(response, await provider.authorizationUrl(checks));
      },
      async POST(request, response) {
        const form = await readBrowserForm(request, trustProxy);
        const session = await sessions.read(request);
        if (session === undefined) {
          sendRedirect(response, loginAddress(HOME_PATH));
          return;
        }
        csrf.check(session, request, form);
        const { checks } = flows.begin(response, { returnTo: HOME_PATH, linkSessionId: session.id });
        // A link, not a redirect: our policy lets a form lead to no other site.
        const page = messagePage({
          title: `Connect ${provider.name}`,
          message: `Log in there with the account that is to open ${session.email} here.`,
          link: { path: await provider.authorizationUrl(checks), text: `Go to ${provider.name}` },
        });
        sendPage(response, 200, page);
      },
    },
    {
      path: EXTERNAL_CALLBACK_PATH,
      async GET(request, response) {
        const flow = flows.finish(request, response);
        const person = await provider.redeem(new URL(request.url ?? "", deps.publicUrl), flow.checks);
        if (flow.linkSessionId === undefined) await finishLogin(request, response, flow, person);
        else await finishLink(request, response, flow, person);
      },
    },
  ];
}
