/** A connection as a person knows it. */
export interface OwnConnection {
  readonly id: number;
  readonly name: string;
  readonly serverType: string;
}

/** The connections of an account, for the person who chooses among them. */
export interface OwnConnections {
  /** Oldest first. */
  list(accountId: string): Promise<readonly OwnConnection[]>;
}
