import { revokeImmediately } from "../identity/grants/grants.ts";
import { createOwnClients } from "../identity/clients/own-clients.ts";
import { createOwnGrants } from "../identity/grants/own-grants.ts";
import { createOwnTokens } from "../identity/tokens/own-tokens.ts";
import type { Revocations } from "../identity/revocations/revocations.ts";
import type { Config } from "../config.ts";
import type { Foundation } from "./foundation.ts";
import type { Webhooks } from "./webhooks.ts";
import type { CallerOf } from "../transport/rpc/caller.ts";
import { createGrantHandlers } from "../transport/rpc/handlers/grants.ts";
import { createOAuthClientHandlers } from "../transport/rpc/handlers/oauth-clients.ts";
import { createPersonalAccessTokenHandlers } from "../transport/rpc/handlers/personal-access-tokens.ts";
import { createWebhookHandlers } from "../transport/rpc/handlers/webhooks.ts";
import type { TransportDeps } from "../transport/transport.ts";

/** Handlers of OAuth clients, personal access tokens, grants and webhooks. */
export type AccessHandlers = Pick<
  TransportDeps["implementations"],
  "oauthClient" | "personalAccessToken" | "grant" | "webhook"
>;

export function composeAccess(
  config: Config,
  foundation: Foundation,
  revocations: Pick<Revocations, "add">,
  webhooks: Pick<Webhooks, "webhooks" | "deliveries">,
  callerOf: CallerOf,
): AccessHandlers {
  const { pepper, keys, accountStore: accounts } = foundation;
  const clients = createOwnClients({ store: foundation.clientStore, accounts, pepper });
  const tokens = createOwnTokens({
    store: foundation.personalAccessTokenStore,
    accounts,
    keys,
    issuer: config.publicUrl,
  });
  return {
    webhook: createWebhookHandlers(webhooks, callerOf),
    oauthClient: createOAuthClientHandlers(clients, callerOf),
    grant: createGrantHandlers(
      createOwnGrants({ store: revokeImmediately(foundation.grantStore, revocations) }),
      callerOf,
    ),
    personalAccessToken: createPersonalAccessTokenHandlers(tokens, callerOf),
  };
}
