import type { InferEntity } from "@mikro-orm/core";
import type { Credentials, CredentialStore } from "../../../identity/login/credentials.ts";
import { AccountEntity } from "../../entities/identity/account.ts";
import { inTransaction, type Orm, withEntities } from "../../orm.ts";
import { byEmail } from "./account.ts";
import { endLoginSessions } from "./login-session.ts";

function toCredentials({ id, email, passwordHash, disabledAt }: InferEntity<typeof AccountEntity>): Credentials {
  return { accountId: id, email, passwordHash, isDisabled: disabledAt !== null };
}

/** Hashed passwords in PostgreSQL. Separate from accounts, so that only the password check reads hashes. */
export function createCredentialStore(orm: Orm): CredentialStore {
  return {
    async findByEmail(email) {
      const account = await withEntities(orm, (em) => em.findOne(AccountEntity, byEmail(email)));
      return account === null ? undefined : toCredentials(account);
    },
    async findByAccount(id) {
      const account = await withEntities(orm, (em) => em.findOne(AccountEntity, { id }));
      return account === null ? undefined : toCredentials(account);
    },
    replacePassword: (id, { from, to, keptSessionId }) =>
      inTransaction(orm, async (em) => {
        const isUnchanged = { id, passwordHash: from, disabledAt: null };
        if ((await em.nativeUpdate(AccountEntity, isUnchanged, { passwordHash: to })) === 0) return false;
        await endLoginSessions(em, id, keptSessionId);
        return true;
      }),
  };
}
