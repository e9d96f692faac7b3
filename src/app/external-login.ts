import type { Orm } from "../storage/orm.ts";
import type { Cookies } from "../transport/http/cookies.ts";
import type { Csrf } from "../transport/pages/csrf.ts";
import { createExternalFlows } from "../identity/login/external-flow.ts";
import { createExternalProvider } from "../identity/login/external-provider.ts";
import { createLogInExternally } from "../identity/login/log-in-externally.ts";
import type { RecordLogin } from "../identity/login/login-events.ts";
import type { BrowserSessions } from "../transport/pages/login/browser-sessions.ts";
import type { PageRoute } from "../transport/pages/serve-pages.ts";
import { createExternalRoutes, EXTERNAL_CALLBACK_PATH } from "../transport/pages/login/serve-external.ts";
import type { Config } from "../config.ts";
import { allowEntryOf } from "../outbound/allow-list.ts";
import { createGuardedDispatcher } from "../outbound/guarded-dispatcher.ts";
import { createGuardedFetch } from "../outbound/guarded-fetch.ts";
import { createExternalIdentityStore } from "../storage/stores/identity/external-identity.ts";

/** Login through the operator's OpenID provider. */
export interface ExternalLogin {
  readonly name: string;
  readonly isLinked: (accountId: string) => Promise<boolean>;
  readonly routes: readonly PageRoute[];
}

const LIMITS = { maxBytes: 1024 * 1024, timeoutMs: 10_000 };

/**
 * Returns undefined if no provider is configured. The provider's host may be private, because the operator configures
 * it.
 */
export function composeExternalLogin(
  { oidc, publicUrl, outboundAllow, trustProxy }: Config,
  deps: {
    readonly orm: Orm;
    readonly pepper: Uint8Array;
    readonly sessions: BrowserSessions;
    readonly csrf: Csrf;
    readonly cookies: Cookies;
    readonly record: RecordLogin;
  },
): ExternalLogin | undefined {
  if (oidc === undefined) return undefined;
  const dispatcher = createGuardedDispatcher({ allow: [...outboundAllow, allowEntryOf(oidc.issuer)] });
  const provider = createExternalProvider({
    ...oidc,
    redirectUri: publicUrl + EXTERNAL_CALLBACK_PATH,
    fetch: createGuardedFetch(dispatcher, LIMITS),
  });
  const identities = createExternalIdentityStore(deps.orm);
  return {
    name: provider.name,
    isLinked: (accountId) => identities.isLinked(accountId, provider.issuer),
    routes: createExternalRoutes({
      ...deps,
      publicUrl,
      trustProxy,
      provider,
      identities,
      flows: createExternalFlows({ pepper: deps.pepper }),
      logIn: createLogInExternally({ identities, createsAccounts: oidc.createsAccounts }),
    }),
  };
}
