import type { Target } from "../integrations/target.ts";
import type { Connection } from "./connection.ts";

/**
 * The connections of an account as this replica knows them: from memory while the change feed is up (at most a second
 * behind a change made elsewhere), from the database otherwise.
 */
export interface ConnectionView {
  /** Every connection of the account, oldest first. The same array until one of them changes. */
  ofAccount(accountId: string): readonly Connection[] | Promise<readonly Connection[]>;
  /** One connection of the account. */
  find(accountId: string, id: number): Connection | undefined | Promise<Connection | undefined>;
  /** What an integration needs for one outbound call, secrets opened. Not for keeping. */
  target(connection: Connection): Target | Promise<Target>;
  /** Drops what is in memory of an account, after a change made here: its maker must not meet the state before it. */
  forget(accountId: string): void;
}
