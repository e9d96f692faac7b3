import type { Logger } from "pino";
import { clientDocumentRoutes } from "../transport/pages/authorizations/serve-client-document.ts";
import { createAuthorizationRoutes } from "../transport/pages/authorizations/serve-authorizations.ts";
import { hashSecret } from "../identity/hash-secret.ts";
import { servePages } from "../transport/pages/serve-pages.ts";
import { createManagedAccountsFlow } from "../connections/authorization/managed-accounts-flow.ts";
import { MAX_ORGANIZATIONS } from "../identity/organizations/organization.ts";
import { createOrganizationReader } from "../storage/stores/organizations/organization-reader.ts";
import type { Config } from "../config.ts";
import {
  type AuthorizeConnection,
  createAuthorizeConnection,
} from "../connections/authorization/authorize-connection.ts";
import { createAuthorizationFlow } from "../connections/authorization/authorization-flow.ts";
import type { AuthorizationAddresses } from "../connections/authorization-address.ts";
import { createAuthorizationAddresses, createAuthorizationSecrets } from "../connections/authorization/tickets.ts";
import type { ConnectionEvent } from "../connections/change-feed.ts";
import type { ConnectionStore } from "../connections/connection-store.ts";
import type { ConnectionView } from "../connections/connection-view.ts";
import type { Catalog } from "../integrations/integration.ts";
import type { Jobs } from "../storage/jobs.ts";
import { createAuthorizationStore } from "../storage/stores/connections/authorization-request.ts";
import { createConnectionGrants } from "../storage/stores/connections/connection-grant-write.ts";
import { enqueueVerification } from "../storage/stores/connections/verification-queue.ts";
import { createUpstreamClientStore } from "../storage/stores/integrations/upstream-client.ts";
import type { Route } from "../transport/http/router.ts";
import type { Foundation } from "./foundation.ts";
import { createEnqueueRevocation } from "./granted-tokens.ts";
import type { Login } from "./login.ts";

/** Lets owners authorize connections by logging in at the upstream. */
export interface ConnectionAuthorization {
  readonly addresses: AuthorizationAddresses;
  readonly authorize: AuthorizeConnection;
  /** The pages, the callback and the client metadata document. */
  readonly routes: readonly Route[];
}

export function composeConnectionAuthorization(
  config: Config,
  { database: { orm }, sealer, pepper }: Foundation,
  login: Login,
  deps: {
    readonly catalog: Catalog;
    readonly connections: ConnectionStore;
    readonly view: ConnectionView;
    readonly onChange: (event: ConnectionEvent) => void;
    readonly jobs: Jobs;
    readonly log: Logger;
  },
): ConnectionAuthorization {
  const { catalog, connections, view, onChange, log } = deps;
  const { publicUrl, trustProxy } = config;
  const secrets = createAuthorizationSecrets({ publicUrl, hashSecret: (secret) => hashSecret(pepper, secret) });
  const authorizations = createAuthorizationStore({ orm, sealer });
  const addresses = createAuthorizationAddresses({ authorizations, secrets });
  const grants = createConnectionGrants({
    orm,
    sealer,
    enqueueVerification,
    enqueueRevocation: createEnqueueRevocation(deps.jobs),
  });
  const flow = createAuthorizationFlow({
    catalog,
    connections,
    view,
    authorizations,
    secrets,
    grants,
    publicUrl,
    clients: createUpstreamClientStore({ orm, sealer }),
    onChange,
  });
  const organizations = createOrganizationReader(orm);
  const managedFlow = createManagedAccountsFlow(flow, async (personId) => {
    const joined = await organizations.listOf(personId, MAX_ORGANIZATIONS, 0);
    return [personId, ...joined.organizations.filter(({ role }) => role !== "member").map(({ id }) => id)];
  });
  const pages = [
    ...clientDocumentRoutes(publicUrl),
    ...createAuthorizationRoutes({ sessions: login.sessions, csrf: login.csrf, flow: managedFlow, trustProxy }),
  ];
  return {
    addresses,
    authorize: createAuthorizeConnection({ catalog, connections, addresses }),
    routes: servePages(pages, log),
  };
}
