import type { Actor } from "./actor.ts";

/** A person, or an organization of several people. */
export type AccountKind = "person" | "organization";

/** Owns connections and issues credentials for them. */
export interface Account {
  readonly id: string;
  readonly kind: AccountKind;
  /** The e-mail address of a person; empty for an organization. */
  readonly email: string;
  /** The name of an organization; empty for a person. */
  readonly name: string;
  /** Whether its clients may have `mgmt.admin`. */
  readonly isAdmin: boolean;
  /** Undefined for an active account. */
  readonly disabledAt: Date | undefined;
}

/** Names an account in messages. */
export function accountLabel({ email, name, id }: Pick<Account, "email" | "name" | "id">): string {
  return email || name || id;
}

export interface AccountStore {
  /** Returns false if the e-mail address is taken, ignoring case. */
  insert(
    account: { id: string; email: string; passwordHash: string; isAdmin: boolean },
    actor: Actor,
  ): Promise<boolean>;
  findById(id: string): Promise<Account | undefined>;
  /** Finds people only. */
  findByEmail(email: string): Promise<Account | undefined>;
  /** Disables the account and revokes all its tokens in one transaction. Returns false if there is no such account. */
  disable(id: string, actor: Actor): Promise<boolean>;
  /**
   * Replaces the password and ends every login session in one transaction. Returns false if there is no such account.
   */
  resetPassword(id: string, passwordHash: string, actor: Actor): Promise<boolean>;
  isEmpty(): Promise<boolean>;
}
