import type { Actor } from "./actor.ts";

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
