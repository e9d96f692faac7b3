import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  type AcceptToolChangesRequest,
  AcceptToolChangesResponseSchema,
  type AcceptToolChangesResponse,
  ListToolChangesResponseSchema,
  type ListToolChangesResponse,
  type ToolChange as WireToolChange,
  ToolChangeSchema,
} from "../../../../gen/proto/patchbay/v1/connection_service_pb.ts";
import {
  type PendingToolChange as WirePendingToolChange,
  PendingToolChangeSchema,
  type ToolDefinition as WireToolDefinition,
  ToolDefinitionSchema,
} from "../../../../gen/proto/patchbay/v1/tool_change_pb.ts";
import type { PendingToolChange } from "../../../connections/definitions/pending-changes.ts";
import type {
  Acceptance,
  AcceptedChanges,
  ListedToolChanges,
} from "../../../connections/definitions/tool-change-review.ts";
import type { ToolChange } from "../../../integrations/integration.ts";
import type { ToolDefinition } from "../../../integrations/tool.ts";
import { toWireAnnotations } from "./tool.ts";

export function toWireToolChanges(listed: ListedToolChanges): ListToolChangesResponse {
  return create(ListToolChangesResponseSchema, {
    success: true,
    data: listed.past.map(toWirePastChange),
    pending: listed.pending.map(toWirePendingChange),
    pendingCount: listed.pendingCount,
    hasMore: listed.hasMore,
    digest: listed.digest,
  });
}

function toWirePastChange({ changedAt, added, removed, changed }: ToolChange): WireToolChange {
  return create(ToolChangeSchema, {
    changedAt: timestampFromDate(changedAt),
    added: [...added],
    removed: [...removed],
    changed: [...changed],
  });
}

function toWirePendingChange(change: PendingToolChange): WirePendingToolChange {
  return create(PendingToolChangeSchema, {
    tool: change.name,
    id: change.id,
    changed: [...change.changed],
    digest: change.digest,
    current: toWireDefinition(change.current),
    proposed: toWireDefinition(change.proposed),
  });
}

function toWireDefinition(definition: ToolDefinition): WireToolDefinition {
  const { description, inputSchema, outputSchema, readOnly, request } = definition;
  return create(ToolDefinitionSchema, {
    description,
    inputSchema,
    ...(outputSchema === undefined ? {} : { outputSchema }),
    annotations: toWireAnnotations(definition),
    readOnly,
    ...(request === undefined ? {} : { request }),
  });
}

export function fromAcceptRequest({ changes, digest }: AcceptToolChangesRequest): AcceptedChanges {
  return { changes: changes.map((change) => ({ tool: change.tool, digest: change.digest })), digest };
}

export function toWireAcceptance({ accepted, remaining }: Acceptance): AcceptToolChangesResponse {
  return create(AcceptToolChangesResponseSchema, {
    success: true,
    data: { accepted: [...accepted], pendingCount: remaining },
  });
}
