import { type EntityManager, LockMode } from "@mikro-orm/postgresql";
import { connectionChanged } from "../../../connections/connection-webhook-event.ts";
import { ConnectionEntity } from "../../entities/connections/connection.ts";
import { findConnection } from "../../statements/connection.ts";
import { toConnection } from "../connections/connection-row.ts";
import { runnerOf } from "../run-statement.ts";
import type { WebhookOutbox } from "./webhook-outbox.ts";

/**
 * Runs a change of a connection within the transaction and stores the event for it. Costs nothing for an account
 * without webhooks.
 */
export async function recordChange<Result>(
  em: EntityManager,
  outbox: WebhookOutbox | undefined,
  { accountId, id }: { readonly accountId: string; readonly id: number },
  change: () => Promise<Result>,
): Promise<Result> {
  if (outbox === undefined || outbox.isQuiet(accountId)) return change();
  const lock = { lockMode: LockMode.PESSIMISTIC_WRITE, disableIdentityMap: true };
  const row = await em.findOne(ConnectionEntity, { accountId, id }, lock);
  const result = await change();
  const [changed] = (await findConnection(runnerOf(em), { accountId, id })).rows;
  if (row !== null && changed !== undefined) {
    const event = connectionChanged(toConnection(accountId, row), toConnection(accountId, changed));
    if (event !== undefined) await outbox.record(em, event);
  }
  return result;
}
