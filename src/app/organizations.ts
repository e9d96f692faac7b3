import { createMembers } from "../identity/organizations/members.ts";
import type { Memberships } from "../identity/organizations/memberships.ts";
import { createRequireOrganization } from "../identity/organizations/organization-access.ts";
import { createOrganizations } from "../identity/organizations/organizations.ts";
import type { Revocations } from "../identity/revocations/revocations.ts";
import type { Jobs } from "../storage/jobs.ts";
import { createOrganizationStore } from "../storage/stores/organizations/organization.ts";
import { runnerOf } from "../storage/stores/run-statement.ts";
import type { CallerOf } from "../transport/rpc/caller.ts";
import { createOrganizationHandlers } from "../transport/rpc/handlers/organizations.ts";
import type { TransportDeps } from "../transport/transport.ts";
import { PURGE_ACCOUNT_QUEUE } from "./background.ts";
import type { Foundation } from "./foundation.ts";

/** Handlers of organizations. */
export function composeOrganizations(deps: {
  readonly foundation: Pick<Foundation, "database" | "memberStore">;
  readonly jobs: Jobs;
  readonly memberships: Pick<Memberships, "forget">;
  readonly revocations: Pick<Revocations, "add">;
  /** Called after a change of an organization's members, to drop this replica's caches. */
  readonly onMembersChanged: (organizationId: string) => void;
  readonly callerOf: CallerOf;
}): Pick<TransportDeps["implementations"], "organization"> {
  const { foundation, memberships, revocations, callerOf } = deps;
  const { memberStore } = foundation;
  const store = createOrganizationStore(foundation.database.orm, (em, accountId) =>
    deps.jobs.send(PURGE_ACCOUNT_QUEUE, { accountId }, {}, runnerOf(em)),
  );
  const require = createRequireOrganization({ store });
  const onChanged = (organizationId: string, memberId: string | undefined): void => {
    memberships.forget(organizationId, memberId);
    deps.onMembersChanged(organizationId);
    // Without a member the organization was deleted.
    if (memberId === undefined) revocations.add({ kind: "account", subject: organizationId, before: undefined });
  };
  return {
    organization: createOrganizationHandlers({
      organizations: createOrganizations({ store, members: memberStore, require, onChanged }),
      members: createMembers({ store: memberStore, require, onChanged }),
      callerOf,
    }),
  };
}
