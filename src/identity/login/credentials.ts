/** What an account logs in with. */
export interface Credentials {
  readonly accountId: string;
  readonly email: string;
  /** argon2id in the PHC format; empty for an account that logs in through an external provider alone. */
  readonly passwordHash: string;
  readonly isDisabled: boolean;
}

/** Where passwords are kept, hashed. */
export interface CredentialStore {
  findByEmail(email: string): Promise<Credentials | undefined>;
  findByAccount(accountId: string): Promise<Credentials | undefined>;
  /**
   * Replaces the password and ends all login sessions of the account but one, in one transaction. False when the account
   * is disabled or its password is no longer the one that was checked.
   */
  replacePassword(
    accountId: string,
    change: { readonly from: string; readonly to: string; readonly keptSessionId: string },
  ): Promise<boolean>;
}
