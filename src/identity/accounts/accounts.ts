import { DomainError, invalid } from "../../domain-error.ts";
import type { Account, AccountStore } from "../account.ts";
import { OPERATOR } from "../actor.ts";
import { hashPassword } from "./password.ts";
import { randomId, randomPassword } from "../random.ts";

/** A new account. The password is stored as a hash only, so it cannot be shown again. */
export interface CreatedAccount {
  readonly accountId: string;
  readonly email: string;
  readonly password: string;
}

export interface Accounts {
  /** Throws `invalid` for an invalid e-mail address and `conflict` if it is taken. */
  create(request: { email: string; isAdmin: boolean }): Promise<CreatedAccount>;
  /** Throws `not_found` if there is no such account. */
  find(idOrEmail: string): Promise<Account>;
  /** Rejects all tokens of the account from now on. */
  disable(idOrEmail: string): Promise<Account>;
  /** Generates a new password and ends every login session. */
  resetPassword(idOrEmail: string): Promise<CreatedAccount>;
}

/** Accepts any address that identifies an account and has no control characters. */
export const EMAIL = /^[^\s@\p{Cc}]{1,64}@[^\s@\p{Cc}]{1,189}$/u;

export function createAccounts({ store }: { store: AccountStore }): Accounts {
  async function find(idOrEmail: string): Promise<Account> {
    const found = idOrEmail.includes("@") ? await store.findByEmail(idOrEmail) : await store.findById(idOrEmail);
    if (found === undefined) throw new DomainError("not_found", `There is no account ${idOrEmail}.`);
    return found;
  }
  return {
    find,
    async create({ email, isAdmin }) {
      if (!EMAIL.test(email)) throw invalid("email", `"${email}" is not an e-mail address.`);
      const id = randomId("acc_");
      const password = randomPassword();
      const isNew = await store.insert({ id, email, passwordHash: await hashPassword(password), isAdmin }, OPERATOR);
      if (!isNew) throw new DomainError("conflict", `An account with the address ${email} already exists.`);
      return { accountId: id, email, password };
    },
    async resetPassword(idOrEmail) {
      const { id, email, kind, name } = await find(idOrEmail);
      if (kind === "organization") throw invalid("account", `The organization ${name} has no password.`);
      const password = randomPassword();
      await store.resetPassword(id, await hashPassword(password), OPERATOR);
      return { accountId: id, email, password };
    },
    async disable(idOrEmail) {
      const account = await find(idOrEmail);
      await store.disable(account.id, OPERATOR);
      return account;
    },
  };
}
