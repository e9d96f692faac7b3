import { DomainError, invalid } from "../../domain-error.ts";
import { type Actor, OPERATOR } from "../actor.ts";
import { hashPassword } from "./password.ts";
import { randomId, randomPassword } from "../random.ts";

/** An owner of connections: the `sub` of its tokens. */
export interface Account {
  /** `acc_<random>` */
  readonly id: string;
  readonly email: string;
  /** Whether its clients may be given `mgmt.admin`. */
  readonly isAdmin: boolean;
  /** Undefined while the account is in use. */
  readonly disabledAt: Date | undefined;
}

/** Where accounts are kept. */
export interface AccountStore {
  /** False when the e-mail address is taken, in whatever case it is written. */
  insert(
    account: { id: string; email: string; passwordHash: string; isAdmin: boolean },
    actor: Actor,
  ): Promise<boolean>;
  findById(id: string): Promise<Account | undefined>;
  findByEmail(email: string): Promise<Account | undefined>;
  /** Marks the account and revokes all its tokens, in one transaction. False when there is no such account. */
  disable(id: string, actor: Actor): Promise<boolean>;
  /** Replaces the password and ends every login session, in one transaction. False when there is no such account. */
  resetPassword(id: string, passwordHash: string, actor: Actor): Promise<boolean>;
  isEmpty(): Promise<boolean>;
}

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
