import { createAuditLog } from "../identity/audit/audit-log.ts";
import { createAdministration } from "../identity/accounts/administration.ts";
import type { Revocations } from "../identity/revocations/revocations.ts";
import { createAdministrationStore } from "../storage/stores/identity/administration.ts";
import { createAuditReader } from "../storage/stores/identity/audit-reader.ts";
import { createPurgeAccount, type PurgeAccount } from "../storage/stores/identity/purge-account.ts";
import { readInstallationStatus } from "../storage/stores/identity/system-status.ts";
import type { Memberships } from "../identity/organizations/memberships.ts";
import type { Jobs } from "../storage/jobs.ts";
import type { CallerOf } from "../transport/rpc/caller.ts";
import { createAdministrationHandlers } from "../transport/rpc/handlers/administration.ts";
import { createAuditHandlers } from "../transport/rpc/handlers/audit.ts";
import type { TransportDeps } from "../transport/transport.ts";
import type { Foundation } from "./foundation.ts";
import { createEnqueueRevocation } from "./granted-tokens.ts";
import { composeOrganizations } from "./organizations.ts";

export type AdministrationHandlers = Pick<TransportDeps["implementations"], "admin" | "audit" | "organization">;

/** Deletes disabled accounts with all their rows. */
export function composePurgeAccount({ database }: Pick<Foundation, "database">, jobs: Jobs): PurgeAccount {
  return createPurgeAccount(database.orm, createEnqueueRevocation(jobs));
}

export function composeAdministration(deps: {
  readonly foundation: Foundation;
  readonly jobs: Jobs;
  readonly memberships: Pick<Memberships, "forget">;
  readonly revocations: Pick<Revocations, "add">;
  readonly version: string;
  readonly isListenerHealthy: () => boolean;
  /** Called after a change of an organization's members. */
  readonly onMembersChanged: (organizationId: string) => void;
  readonly callerOf: CallerOf;
}): AdministrationHandlers {
  const { foundation, revocations, version, isListenerHealthy, callerOf } = deps;
  const { orm } = foundation.database;
  const administration = createAdministration({
    store: createAdministrationStore(orm, foundation.accountStore, composePurgeAccount(foundation, deps.jobs)),
    onRevoked: (accountId) => {
      revocations.add({ kind: "account", subject: accountId, before: undefined });
    },
  });
  return {
    admin: createAdministrationHandlers({
      administration,
      keyRotation: foundation.keyRotation,
      readStatus: async () => ({
        ...(await readInstallationStatus(foundation.database.maintenance)),
        version,
        isListenerHealthy: isListenerHealthy(),
      }),
      callerOf,
    }),
    ...composeOrganizations(deps),
    audit: createAuditHandlers(createAuditLog({ reader: createAuditReader(orm) })),
  };
}
