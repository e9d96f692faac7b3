export interface OwnConnection {
  readonly id: number;
  readonly name: string;
  readonly serverType: string;
}

/** Connections for the choice on the consent page. */
export interface OwnConnections {
  list(accountId: string): Promise<readonly OwnConnection[]>;
}
