/** The page at which the owner of a connection authorizes it. */
export interface AuthorizationAddress {
  readonly url: string;
  readonly expiresAt: Date;
}

export interface AuthorizationAddresses {
  /** Returns a new address, or undefined if the connection is deleted. */
  issue(accountId: string, connectionId: number): Promise<AuthorizationAddress | undefined>;
}
