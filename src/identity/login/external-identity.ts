/** Somebody as an external OpenID provider knows them: the issuer and its subject, which never changes hands. */
export interface ExternalIdentity {
  readonly issuer: string;
  readonly subject: string;
}

/** Which accounts may be logged in to by whom. An e-mail address is never enough: it is what a provider says, not who it is. */
export interface ExternalIdentityStore {
  findAccount(identity: ExternalIdentity): Promise<{ readonly accountId: string } | undefined>;
  /** A new account without a password for a new identity. False when the address or the identity is taken. */
  insertAccount(account: { readonly id: string; readonly email: string }, identity: ExternalIdentity): Promise<boolean>;
  /** Lets the identity log in to the account. False when it logs in to another one. */
  link(accountId: string, identity: ExternalIdentity): Promise<boolean>;
  /** Whether somebody of this issuer may log in to the account. */
  isLinked(accountId: string, issuer: string): Promise<boolean>;
}
