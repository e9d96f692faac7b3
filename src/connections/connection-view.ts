import type { Target } from "../integrations/target.ts";
import type { Connection } from "./connection.ts";

/**
 * Connections as this replica knows them: cached while the change feed is healthy (at most a second behind other
 * replicas), otherwise from the database.
 */
export interface ConnectionView {
  /** Oldest first. Returns the same array until a connection changes. */
  ofAccount(accountId: string): readonly Connection[] | Promise<readonly Connection[]>;
  find(accountId: string, id: number): Connection | undefined | Promise<Connection | undefined>;
  /** Returns what an integration needs for one request, with decrypted secrets. Do not store it. */
  target(connection: Connection): Target | Promise<Target>;
  /** Drops the account's cache after a change on this replica, so that its author sees the change. */
  forget(accountId: string): void;
}
