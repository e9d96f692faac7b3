import type { Logger } from "pino";
import { createRecordLogin } from "../identity/login/audit-login.ts";
import { createBoundedWork } from "../identity/login/bounded-work.ts";
import { createChangePassword } from "../identity/login/change-password.ts";
import { createListActingAccounts } from "../identity/oauth/acting-account.ts";
import { createCookies } from "../transport/http/cookies.ts";
import { createCsrf, type Csrf } from "../transport/pages/csrf.ts";
import { createLogIn } from "../identity/login/log-in.ts";
import { createLoginLimits, LOGIN_LIMITS } from "../identity/login/login-limits.ts";
import { createLoginSessions } from "../identity/login/login-sessions.ts";
import type { Route } from "../transport/http/router.ts";
import { type BrowserSessions, createBrowserSessions } from "../transport/pages/login/browser-sessions.ts";
import { servePages } from "../transport/pages/serve-pages.ts";
import { createAccountRoutes } from "../transport/pages/account/serve-account.ts";
import { createLoginRoutes } from "../transport/pages/login/serve-login.ts";
import { createSessionRoutes } from "../transport/pages/login/serve-session.ts";
import { styleRoute } from "../transport/pages/files/serve-style.ts";
import { createIssueSessionToken } from "../identity/login/session-token.ts";
import type { Config } from "../config.ts";
import { createAuditRecorder } from "../storage/stores/identity/audit-event.ts";
import { createCredentialStore } from "../storage/stores/identity/credential.ts";
import { createLoginSessionStore } from "../storage/stores/identity/login-session.ts";
import { createOrganizationReader } from "../storage/stores/organizations/organization-reader.ts";
import { createTryCounter } from "../storage/stores/identity/try-counter.ts";
import { composeExternalLogin } from "./external-login.ts";
import type { Foundation } from "./foundation.ts";

/** Login and its browser sessions. */
export interface Login {
  readonly sessions: BrowserSessions;
  readonly csrf: Csrf;
  readonly routes: readonly Route[];
}

/** Concurrent password hashes: half of the threads that file access and DNS lookups share. */
const HASHING = { maxRunning: 2, maxWaiting: 64 };

export function composeLogin(config: Config, { database, pepper, keys }: Foundation, log: Logger): Login {
  const { publicUrl, trustProxy } = config;
  const { orm, pool } = database;
  const record = createRecordLogin(createAuditRecorder(orm), (error) => {
    log.error({ err: error }, "a login could not be written to the audit log");
  });
  const cookies = createCookies(publicUrl);
  const store = createLoginSessionStore(database);
  const credentials = createCredentialStore(orm);
  const sessions = createBrowserSessions({ sessions: createLoginSessions({ store, pepper }), cookies });
  const csrf = createCsrf({ publicUrl, pepper });
  const hashing = createBoundedWork(HASHING);
  const limits = createLoginLimits({
    accountFromAddress: createTryCounter(pool, "from", LOGIN_LIMITS.accountFromAddress),
    account: createTryCounter(pool, "account", LOGIN_LIMITS.account),
    pepper,
  });
  const external = composeExternalLogin(config, { orm, pepper, sessions, csrf, cookies, record });
  const actingAccounts = createListActingAccounts(createOrganizationReader(orm));
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
      actingAccounts,
      issueToken: createIssueSessionToken({
        actingAccounts,
        issuer: publicUrl,
        keys,
        issueTimestamp: (accountId, sessionId) => store.issueTimestamp(accountId, sessionId),
      }),
    }),
    ...(external?.routes ?? []),
  ];
  return { sessions, csrf, routes: servePages(routes, log) };
}
