import type { FilterQuery, InferEntity } from "@mikro-orm/core";
import type { AuditEvent, AuditFilter, AuditPosition, AuditReader } from "../../../identity/audit/audit-event.ts";
import { AuditEventEntity } from "../../entities/identity/audit-event.ts";
import { type Orm, withEntities } from "../../orm.ts";

type EventRow = InferEntity<typeof AuditEventEntity>;

/** The audit log in PostgreSQL, newest first. */
export function createAuditReader(orm: Orm): AuditReader {
  return {
    async page(accountId, filter, before, limit) {
      const where = { $and: [...(accountId === undefined ? [] : [{ accountId }]), ...conditions(filter, before)] };
      const orderBy = { occurredAt: "desc", id: "desc" } as const;
      return (await withEntities(orm, (em) => em.find(AuditEventEntity, where, { orderBy, limit }))).map(toEvent);
    },
  };
}

function* conditions(filter: AuditFilter, before: AuditPosition | undefined): Iterable<FilterQuery<EventRow>> {
  const { action, outcome, objectType, objectId, actor, actorAccountId, connectionIds, from, to } = filter;
  if (action !== undefined) yield { action };
  if (outcome !== undefined) yield { outcome };
  if (objectType !== undefined) yield { objectType };
  if (objectId !== undefined) yield { objectId };
  if (actor !== undefined) yield { $or: [{ actorAccountId: actor }, { actorClientId: actor }] };
  if (actorAccountId !== undefined) yield { actorAccountId };
  if (connectionIds !== undefined) yield { objectType: "connection", objectId: { $in: connectionIds.map(String) } };
  if (from !== undefined) yield { occurredAt: { $gte: from } };
  if (to !== undefined) yield { occurredAt: { $lt: to } };
  if (before === undefined) return;
  const { occurredAt, id } = before;
  yield { $or: [{ occurredAt: { $lt: occurredAt } }, { occurredAt, id: { $lt: id } }] };
}

function toEvent(row: EventRow): AuditEvent {
  const { accountId, occurredAt, id, action, outcome, objectType, objectId, objectName, changed } = row;
  const actor = {
    kind: row.actorKind,
    accountId: row.actorAccountId ?? undefined,
    clientId: row.actorClientId ?? undefined,
    tokenId: row.actorTokenId ?? undefined,
    address: row.address,
    userAgent: row.userAgent,
  };
  return { accountId, occurredAt, id, action, outcome, actor, objectType, objectId, objectName, changed };
}
