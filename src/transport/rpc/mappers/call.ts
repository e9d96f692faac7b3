import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  type Call as WireCall,
  CallSchema,
  type ConnectionUsage as WireConnectionUsage,
  ConnectionUsageSchema,
  type Usage as WireUsage,
  UsageSchema,
} from "../../../../gen/proto/patchbay/v1/call_pb.ts";
import type { ConnectionUsage, StoredCall, UsageGroup } from "../../../runtime/calls/call-record.ts";

export function toWireCall(call: StoredCall): WireCall {
  return create(CallSchema, {
    id: String(call.id),
    mcpServerId: call.connectionId,
    tool: call.toolName,
    clientId: call.clientId,
    startedAt: timestampFromDate(call.startedAt),
    durationMs: call.durationMs,
    outcome: call.outcome,
    requestBytes: call.requestBytes,
    responseBytes: call.responseBytes,
    contentsKept: call.areContentsKept,
  });
}

export function toWireUsage({ connectionId, toolName, day, calls, outcomes, latencyMs }: UsageGroup): WireUsage {
  return create(UsageSchema, {
    ...(connectionId === undefined ? {} : { mcpServerId: connectionId }),
    ...(toolName === undefined ? {} : { tool: toolName }),
    ...(day === undefined ? {} : { day }),
    calls,
    ok: outcomes.ok,
    toolErrors: outcomes.tool_error,
    upstreamErrors: outcomes.upstream_error,
    refused: outcomes.refused,
    cancelled: outcomes.cancelled,
    errorRate: calls === 0 ? 0 : (outcomes.tool_error + outcomes.upstream_error) / calls,
    ...(latencyMs === undefined ? {} : { p50Ms: latencyMs.p50, p95Ms: latencyMs.p95, p99Ms: latencyMs.p99 }),
  });
}

export function toWireConnectionUsage(used: ConnectionUsage): WireConnectionUsage {
  const { connectionId, lastCalledAt, calls, errors } = used;
  return create(ConnectionUsageSchema, {
    mcpServerId: connectionId,
    ...(lastCalledAt === undefined ? {} : { lastCalledAt: timestampFromDate(lastCalledAt) }),
    calls,
    errors,
    errorRate: calls === 0 ? 0 : errors / calls,
  });
}
