import type pg from "pg";

/** Ends the sessions that are bound to a connection or have called it. For the transaction that deletes it, after locking its row. */
export async function endSessionsOfConnection(
  client: pg.ClientBase,
  accountId: string,
  connectionId: number,
): Promise<void> {
  await client.query(
    "delete from session where account_id = $1 and (connection_id = $2 or $2 = any (called_connection_ids))",
    [accountId, connectionId],
  );
}

/** Ends the sessions that a client opened. For the transaction that revokes it or narrows its scopes. */
export async function endSessionsOfClient(client: pg.ClientBase, accountId: string, clientId: string): Promise<void> {
  await client.query("delete from session where account_id = $1 and client_id = $2", [accountId, clientId]);
}

/** Ends the sessions that were opened with a grant's tokens. For the transaction that revokes it. */
export async function endSessionsOfGrant(client: pg.ClientBase, accountId: string, grantId: string): Promise<void> {
  await client.query("delete from session where account_id = $1 and grant_id = $2", [accountId, grantId]);
}

/** Ends all sessions of an account. For the transaction that disables it. */
export async function endSessionsOfAccount(client: pg.ClientBase, accountId: string): Promise<void> {
  await client.query("delete from session where account_id = $1", [accountId]);
}
