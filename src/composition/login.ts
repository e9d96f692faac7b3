import type { Logger } from "pino";
import { createRecordLogin } from "../auth/login/audit-login.ts";
import { createBoundedWork } from "../auth/login/bounded-work.ts";
import { createChangePassword } from "../auth/login/change-password.ts";
import { createCookies } from "../auth/login/cookies.ts";
import { createCsrf, type Csrf } from "../auth/login/csrf.ts";
import { createLogIn } from "../auth/login/log-in.ts";
import { createLoginLimits, LOGIN_LIMITS } from "../auth/login/login-limits.ts";
import { createLoginSessions, type LoginSessions } from "../auth/login/login-sessions.ts";
import { createPageServer } from "../auth/login/page-routes.ts";
import { createAccountRoutes } from "../auth/login/serve-account.ts";
import { createLoginRoutes } from "../auth/login/serve-login.ts";
import { createSessionRoutes } from "../auth/login/serve-session.ts";
import { styleRoute } from "../auth/login/serve-style.ts";
import { createIssueSessionToken } from "../auth/login/session-token.ts";
import type { HttpRequest, HttpResponse } from "../auth/oauth/http-exchange.ts";
import type { Config } from "../config.ts";
import { createAuditRecorder } from "../storage/stores/audit-event.ts";
import { createCredentialStore } from "../storage/stores/credential.ts";
import { createLoginSessionStore } from "../storage/stores/login-session.ts";
import { createTryCounter } from "../storage/stores/try-counter.ts";
import { composeExternalLogin } from "./external-login.ts";
import type { Foundation } from "./foundation.ts";

/** How people log in, and what tells their browsers apart. */
export interface Login {
  readonly sessions: LoginSessions;
  readonly csrf: Csrf;
  /** Paths for browsers, each with what answers it. */
  readonly routes: readonly {
    readonly path: string;
    handle(request: HttpRequest, response: HttpResponse): Promise<void>;
  }[];
}

/** Passwords that are hashed at once: half of the threads that files and names are looked up with, too. */
const HASHING = { maxRunning: 2, maxWaiting: 64 };

/** Builds what logging in is made of. */
export function composeLogin(config: Config, { database: { pool }, pepper, keys }: Foundation, log: Logger): Login {
  const { publicUrl, trustProxy } = config;
  const record = createRecordLogin(createAuditRecorder(pool), (error) => {
    log.error({ err: error }, "a login could not be written into the audit log");
  });
  const cookies = createCookies(publicUrl);
  const store = createLoginSessionStore(pool);
  const credentials = createCredentialStore(pool);
  const sessions = createLoginSessions({ store, cookies, pepper });
  const csrf = createCsrf({ publicUrl, pepper });
  const hashing = createBoundedWork(HASHING);
  const limits = createLoginLimits({
    accountFromAddress: createTryCounter(pool, "from", LOGIN_LIMITS.accountFromAddress),
    account: createTryCounter(pool, "account", LOGIN_LIMITS.account),
    pepper,
  });
  const external = composeExternalLogin(config, { pool, pepper, sessions, csrf, record });
  const shared = { sessions, csrf, trustProxy, record };
  const routes = [
    styleRoute,
    ...createLoginRoutes({
      ...shared,
      publicUrl,
      cookies,
      logIn: createLogIn({ credentials, limits, hashing }),
      providerName: external?.name,
    }),
    ...createAccountRoutes({
      ...shared,
      credentials,
      changePassword: createChangePassword({ credentials, limits, hashing }),
      provider: external,
    }),
    ...createSessionRoutes({
      ...shared,
      issueToken: createIssueSessionToken({
        issuer: publicUrl,
        keys,
        momentOf: (accountId, sessionId) => store.momentOf(accountId, sessionId),
      }),
    }),
    ...(external?.routes ?? []),
  ];
  const server = createPageServer({
    routes,
    onError: (error) => {
      log.error({ err: error }, "a page failed");
    },
  });
  return {
    sessions,
    csrf,
    routes: routes.map(({ path }) => ({ path, handle: (request, response) => server.handle(request, response) })),
  };
}
