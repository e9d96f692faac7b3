import type { Logger } from "pino";
import { revokeImmediately } from "../identity/grants/grants.ts";
import { createListActingAccounts } from "../identity/oauth/acting-account.ts";
import { createTokenIssues } from "../identity/audit/token-issues.ts";
import type { Route } from "../transport/http/router.ts";
import { createOAuthRoutes } from "../transport/oauth/routes.ts";
import type { Revocations } from "../identity/revocations/revocations.ts";
import type { TokenVerifier } from "../identity/tokens/verifier.ts";
import type { Config } from "../config.ts";
import { createGuardedDispatcher } from "../outbound/guarded-dispatcher.ts";
import { createAuditRecorder } from "../storage/stores/identity/audit-event.ts";
import { createOrganizationReader } from "../storage/stores/organizations/organization-reader.ts";
import { createPayloadStore } from "../storage/stores/identity/oidc-payload.ts";
import { createOwnConnections } from "../storage/stores/identity/own-connections.ts";
import { revoke } from "../storage/stores/identity/revocation.ts";
import type { Foundation } from "./foundation.ts";
import type { Login } from "./login.ts";

/** Limits for a client metadata document, which is small and fetched while a person waits. */
const DOCUMENT_LIMITS = { connectTimeoutMs: 2_500, headersTimeoutMs: 2_500, maxResponseBytes: 64 * 1_024 };

export function composeAuthorizationServer(
  config: Config,
  foundation: Foundation,
  { sessions, csrf }: Pick<Login, "sessions" | "csrf">,
  { verifier, revocations }: { readonly verifier: TokenVerifier; readonly revocations: Revocations },
  log: Logger,
): readonly Route[] {
  const { orm, pool } = foundation.database;
  return createOAuthRoutes({
    issuer: config.publicUrl,
    pepper: foundation.pepper,
    clients: foundation.clientStore,
    grants: revokeImmediately(foundation.grantStore, revocations),
    payloads: createPayloadStore(orm),
    keys: foundation.keys,
    verifier,
    sessions,
    csrf,
    connections: createOwnConnections(orm),
    actingAccounts: createListActingAccounts(createOrganizationReader(orm)),
    dispatcher: createGuardedDispatcher({ allow: config.outboundAllow, ...DOCUMENT_LIMITS }),
    revokeAccessToken: async (accountId, tokenId) => {
      await revoke(pool, { accountId, kind: "token", subject: tokenId });
      revocations.add({ kind: "token", subject: tokenId, before: undefined });
    },
    recordIssue: createTokenIssues({
      recorder: createAuditRecorder(orm),
      onError: (error) => {
        log.error({ err: error }, "the issue of a token could not be written to the audit log");
      },
    }),
    registration: config.dynamicRegistration,
    trustProxy: config.trustProxy,
    log,
  });
}
