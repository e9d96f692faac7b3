import { UniqueConstraintViolationException } from "@mikro-orm/core";
import { SERVICE } from "../../../identity/actor.ts";
import type { ExternalIdentityStore } from "../../../identity/login/external-identity.ts";
import { AccountEntity } from "../../entities/identity/account.ts";
import { ExternalIdentityEntity } from "../../entities/identity/external-identity.ts";
import { inTransaction, type Orm, tablesOf, withEntities } from "../../orm.ts";
import { accountEvent } from "./account.ts";
import { recordEvent } from "./audit-event.ts";

/** External identities in PostgreSQL. */
export function createExternalIdentityStore(orm: Orm): ExternalIdentityStore {
  return {
    async findAccount({ issuer, subject }) {
      const found = await withEntities(orm, (em) => em.findOne(ExternalIdentityEntity, { issuer, subject }));
      return found === null ? undefined : { accountId: found.accountId };
    },
    async insertAccount({ id, email }, { issuer, subject }) {
      try {
        // The account and the identity are created together: without an identity, nobody could log in to the account,
        // and its e-mail address would stay taken.
        await inTransaction(orm, async (em) => {
          em.create(AccountEntity, { id, email, passwordHash: "", isAdmin: false });
          recordEvent(em, accountEvent({ id, email }, "account.create", SERVICE));
          em.create(ExternalIdentityEntity, { accountId: id, issuer, subject });
          await em.flush();
        });
        return true;
      } catch (error) {
        // The address is taken, or the same person registered concurrently in another window.
        if (error instanceof UniqueConstraintViolationException) return false;
        throw error;
      }
    },
    async link(accountId, { issuer, subject }) {
      const identity = { accountId, issuer, subject };
      return withEntities(orm, async (em) => {
        const row = { account_id: accountId, issuer, subject };
        const insert = tablesOf(em).insertInto("external_identity").values(row);
        await insert.onConflict((conflict) => conflict.doNothing()).execute();
        return (await em.count(ExternalIdentityEntity, identity)) === 1;
      });
    },
    isLinked: async (accountId, issuer) =>
      (await withEntities(orm, (em) => em.count(ExternalIdentityEntity, { accountId, issuer }))) > 0,
  };
}
