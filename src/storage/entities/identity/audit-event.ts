import { defineEntity } from "@mikro-orm/core";
import type { AuditAction, AuditObject } from "../../../identity/audit/audit-event.ts";

/** An entry of the audit log. */
export const AuditEventEntity = defineEntity({
  name: "AuditEvent",
  properties: (p) => ({
    accountId: p.text().primary(),
    occurredAt: p.datetime().primary().defaultRaw("date_trunc('milliseconds'::text, clock_timestamp())"),
    id: p.bigint("number").primary().autoincrement().generated("identity"),
    action: p.text().$type<AuditAction>(),
    outcome: p.enum(["ok", "refused"]).default("ok"),
    actorKind: p.enum(["account", "operator", "service"]),
    actorAccountId: p.text().nullable(),
    actorClientId: p.text().nullable(),
    actorTokenId: p.text().nullable(),
    address: p.text().default(""),
    userAgent: p.text().default(""),
    objectType: p.text().$type<AuditObject>(),
    objectId: p.text(),
    objectName: p.text().default(""),
    changed: p.array().columnType("text[]").defaultRaw("'{}'"),
  }),
  triggers: [
    {
      name: "audit_event_append_only",
      timing: "before",
      events: ["update", "delete"],
      expression: `create trigger audit_event_append_only before update or delete on audit_event
        for each row execute function keep_audit_event()`,
    },
  ],
  indexes: [{ name: "audit_event_time", properties: ["occurredAt", "id"] }],
});
