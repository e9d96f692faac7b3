import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { type AuditEvent as WireEvent, AuditEventSchema } from "../../../../gen/proto/patchbay/v1/audit_event_pb.ts";
import type { AuditEvent } from "../../../identity/audit/audit-event.ts";

export function toWireAuditEvent(event: AuditEvent): WireEvent {
  const { actor } = event;
  return create(AuditEventSchema, {
    id: String(event.id),
    occurredAt: timestampFromDate(event.occurredAt),
    accountId: event.accountId,
    action: event.action,
    outcome: event.outcome,
    actorKind: actor.kind,
    ...(actor.accountId === undefined ? {} : { actorAccountId: actor.accountId }),
    ...(actor.clientId === undefined ? {} : { actorClientId: actor.clientId }),
    ...(actor.tokenId === undefined ? {} : { actorTokenId: actor.tokenId }),
    address: actor.address,
    userAgent: actor.userAgent,
    objectType: event.objectType,
    objectId: event.objectId,
    objectName: event.objectName,
    changed: [...event.changed],
  });
}
