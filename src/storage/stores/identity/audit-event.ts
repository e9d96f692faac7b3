import type { EntityManager } from "@mikro-orm/postgresql";
import type { AuditRecorder, NewAuditEvent } from "../../../identity/audit/audit-event.ts";
import { AuditEventEntity } from "../../entities/identity/audit-event.ts";
import { type Orm, withEntities } from "../../orm.ts";

/** An audit event of a row change. Most such events are accepted and name no field. */
export type ChangeEvent = Omit<NewAuditEvent, "outcome" | "changed"> & Partial<NewAuditEvent>;

function toRow({ actor, outcome = "ok", changed = [], ...event }: ChangeEvent) {
  return {
    ...event,
    outcome,
    changed: [...changed],
    actorKind: actor.kind,
    actorAccountId: actor.accountId ?? null,
    actorClientId: actor.clientId ?? null,
    actorTokenId: actor.tokenId ?? null,
    address: actor.address,
    userAgent: actor.userAgent,
  };
}

/** Writes an event in the transaction of its change. */
export function recordEvent(em: EntityManager, event: ChangeEvent): void {
  em.create(AuditEventEntity, toRow(event));
}

/** Stores events without a row change in PostgreSQL: logins, and actions of the service itself. */
export function createAuditRecorder(orm: Orm): AuditRecorder {
  return {
    async record(event) {
      await withEntities(orm, (em) => em.insert(AuditEventEntity, toRow(event)));
    },
  };
}
