import { DomainError, invalid } from "../../domain-error.ts";
import type { Account, AccountStore } from "../account.ts";
import { OPERATOR } from "../actor.ts";
import { hashPassword } from "./password.ts";
import { randomId, randomPassword } from "../random.ts";

/** A new account; the password is in no other place and cannot be shown again. */
export interface CreatedAccount {
  readonly accountId: string;
  readonly email: string;
  readonly password: string;
}

/** The use cases of accounts. */
export interface Accounts {
  /** Fails with `invalid` for what is no e-mail address, `conflict` when it is taken. */
  create(request: { email: string; isAdmin: boolean }): Promise<CreatedAccount>;
  /** An account by id or e-mail address; `not_found` when there is none. */
  find(idOrEmail: string): Promise<Account>;
  /** Ends the account's use: none of its tokens is honoured from now on. */
  disable(idOrEmail: string): Promise<Account>;
  /** A new password for who has lost theirs; whoever was logged in has to log in again. */
  resetPassword(idOrEmail: string): Promise<CreatedAccount>;
}

/** What passes for an e-mail address: it need only be told apart from others, and be free of controls. */
export const EMAIL = /^[^\s@\p{Cc}]{1,64}@[^\s@\p{Cc}]{1,189}$/u;

/** The use cases of accounts over a store. */
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
      if (!isNew) throw new DomainError("conflict", `There already is an account with the address ${email}.`);
      return { accountId: id, email, password };
    },
    async resetPassword(idOrEmail) {
      const { id, email } = await find(idOrEmail);
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
