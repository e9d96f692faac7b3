/** A person at an external OpenID provider. A provider never reassigns a subject. */
export interface ExternalIdentity {
  readonly issuer: string;
  readonly subject: string;
}

/** Links identities to accounts. E-mail addresses are not used, because a provider may state any address. */
export interface ExternalIdentityStore {
  findAccount(identity: ExternalIdentity): Promise<{ readonly accountId: string } | undefined>;
  /** Creates an account without a password. Returns false if the address or the identity is taken. */
  insertAccount(account: { readonly id: string; readonly email: string }, identity: ExternalIdentity): Promise<boolean>;
  /** Returns false if the identity is linked to another account. */
  link(accountId: string, identity: ExternalIdentity): Promise<boolean>;
  /** Whether an identity of this issuer is linked to the account. */
  isLinked(accountId: string, issuer: string): Promise<boolean>;
}
