import { type EntityManager, raw } from "@mikro-orm/postgresql";
import { SessionEntity } from "../../entities/sessions/session.ts";

/** Ends the sessions that are bound to a connection or have called it. For the transaction that deletes it, after locking its row. */
export async function endSessionsOfConnection(
  em: EntityManager,
  accountId: string,
  connectionId: number,
): Promise<void> {
  const hasCalled = { [raw("? = any (called_connection_ids)", [connectionId])]: true };
  await em.nativeDelete(SessionEntity, { accountId, $or: [{ connectionId }, hasCalled] });
}

/** Ends the sessions that a client opened. For the transaction that revokes it or narrows its scopes. */
export async function endSessionsOfClient(em: EntityManager, accountId: string, clientId: string): Promise<void> {
  await em.nativeDelete(SessionEntity, { accountId, clientId });
}

/** Ends the sessions that were opened with a grant's tokens. For the transaction that revokes it. */
export async function endSessionsOfGrant(em: EntityManager, accountId: string, grantId: string): Promise<void> {
  await em.nativeDelete(SessionEntity, { accountId, grantId });
}

/** Ends all sessions of an account. For the transaction that disables it. */
export async function endSessionsOfAccount(em: EntityManager, accountId: string): Promise<void> {
  await em.nativeDelete(SessionEntity, { accountId });
}
