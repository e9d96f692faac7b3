export interface Credentials {
  readonly accountId: string;
  readonly email: string;
  /** argon2id in the PHC format; empty for an account that logs in only through an external provider. */
  readonly passwordHash: string;
  readonly isDisabled: boolean;
}

export interface CredentialStore {
  findByEmail(email: string): Promise<Credentials | undefined>;
  findByAccount(accountId: string): Promise<Credentials | undefined>;
  /**
   * Replaces the password and ends all other login sessions, in one transaction. Returns false if the account is
   * disabled or its password hash is no longer `from`.
   */
  replacePassword(
    accountId: string,
    change: { readonly from: string; readonly to: string; readonly keptSessionId: string },
  ): Promise<boolean>;
}
