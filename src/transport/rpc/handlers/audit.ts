import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type AuditService,
  ListAllAuditEventsResponseSchema,
  ListAuditEventsResponseSchema,
} from "../../../../gen/proto/patchbay/v1/audit_service_pb.ts";
import type { AuditLog } from "../../../identity/audit/audit-log.ts";
import { toWireAuditEvent } from "../mappers/audit-event.ts";
import { fromWireRange } from "../mappers/timestamp.ts";
import { principalOf } from "../principal.ts";

/** Handlers of AuditService. */
export function createAuditHandlers(log: AuditLog): ServiceImpl<typeof AuditService> {
  return {
    async listAuditEvents(request, context) {
      const { events, nextCursor } = await log.list(principalOf(context), { ...request, ...fromWireRange(request) });
      return create(ListAuditEventsResponseSchema, {
        success: true,
        data: events.map(toWireAuditEvent),
        ...(nextCursor === undefined ? {} : { nextCursor }),
      });
    },

    async listAllAuditEvents(request) {
      const { events, nextCursor } = await log.listAll(request.accountId, { ...request, ...fromWireRange(request) });
      return create(ListAllAuditEventsResponseSchema, {
        success: true,
        data: events.map(toWireAuditEvent),
        ...(nextCursor === undefined ? {} : { nextCursor }),
      });
    },
  };
}
