import type { EntityManager } from "@mikro-orm/postgresql";
import { sql } from "kysely";
import { AccountEntity } from "../../entities/identity/account.ts";
import { AuditEventEntity } from "../../entities/identity/audit-event.ts";
import { CallRecordEntity } from "../../entities/calls/call-record.ts";
import { callFunction, inTransaction, type Orm, tablesOf, withEntities } from "../../orm.ts";
import { deleteInBatches } from "../../statements/batch-delete.ts";
import { type EnqueueRevocation, revokeGrants } from "../connections/connection-grant-write.ts";
import { endMemberships, refuseSoleOwner } from "../organizations/end-membership.ts";
import { runnerOf } from "../run-statement.ts";
import { revoke } from "./revocation.ts";

const isOfAccount = (given: { readonly accountId: string }) => sql<boolean>`account_id = ${given.accountId}`;
const callKey = ["account_id", "started_at", "id"] as const;
const deleteHistory = deleteInBatches("purge_account_history", "call_record", callKey, isOfAccount);
const contentsKey = ["account_id", "call_id"] as const;
const deleteContents = deleteInBatches("purge_account_contents", "call_contents", contentsKey, isOfAccount);

/** Maximum duration of a purge within one request, in milliseconds. The response then states the progress. */
const PURGE_MS = 20_000;

/**
 * Deletes a disabled account with all its rows. `onDeleted` runs in the last transaction. `unfinished` means that more
 * history remains to be deleted by another call. Throws `conflict` for the only owner of an organization.
 */
export type PurgeAccount = (
  id: string,
  onDeleted: (em: EntityManager) => void,
) => Promise<"purged" | "active" | "unfinished">;

export function createPurgeAccount(orm: Orm, enqueueRevocation: EnqueueRevocation): PurgeAccount {
  async function deleteForGood(em: EntityManager, id: string): Promise<"purged" | "active"> {
    await endMemberships(em, id);
    await dropRefreshTokens(em, id);
    await revokeGrants(em, id, undefined, enqueueRevocation);
    if ((await em.nativeDelete(AccountEntity, { id, disabledAt: { $ne: null } })) === 0) return "active";
    // Concurrent writes for the account's connections are either visible now or can no longer commit.
    await em.nativeDelete(CallRecordEntity, { accountId: id });
    await callFunction(em, "set_config", "patchbay.purge", "on", true);
    await em.nativeDelete(AuditEventEntity, { accountId: id });
    // Events in the logs of other accounts stay, without the person's names, address and user agent.
    const isObject = { objectType: { $in: ["account" as const, "member" as const] }, objectId: id };
    await em.nativeUpdate(AuditEventEntity, isObject, { objectName: "" });
    const concerns = { $or: [{ actorAccountId: id }, isObject] };
    await em.nativeUpdate(AuditEventEntity, concerns, { address: "", userAgent: "" });
    await revoke(runnerOf(em), { accountId: id, kind: "account", subject: id });
    return "purged";
  }

  return async (id, onDeleted) => {
    await withEntities(orm, (em) => refuseSoleOwner(em, id));
    const until = Date.now() + PURGE_MS;
    const isWhole = await withEntities(orm, async (em) => {
      const runner = runnerOf(em);
      const given = { accountId: id };
      return (await deleteContents(runner, given, until)) && (await deleteHistory(runner, given, until));
    });
    if (!isWhole) return "unfinished";
    return inTransaction(orm, async (em) => {
      const outcome = await deleteForGood(em, id);
      if (outcome === "purged") onDeleted(em);
      return outcome;
    });
  };
}

/** Deletes the refresh tokens of an account, and of a person those in organizations. */
export async function dropRefreshTokens(em: EntityManager, accountId: string): Promise<void> {
  await tablesOf(em)
    .deleteFrom("oidc_payload")
    .where("grant_id", "in", (grants) =>
      grants
        .selectFrom("oauth_grant")
        .select("id")
        .where(({ eb, or }) => or([eb("account_id", "=", accountId), eb("member_id", "=", accountId)])),
    )
    .execute();
}
