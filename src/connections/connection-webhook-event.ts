import type { WebhookEvent, WebhookEventType } from "../webhooks/webhook-event.ts";
import { type Connection, connectionStatus } from "./connection.ts";

/** The event that tells of a new connection. */
export function connectionCreated(connection: Connection): WebhookEvent {
  return toEvent("connection.created", connection);
}

/** The event that tells of a deleted connection, with its last state. */
export function connectionDeleted(connection: Connection): WebhookEvent {
  return toEvent("connection.deleted", connection);
}

/** The event that tells of a change, or undefined if it is none that webhooks hear of. */
export function connectionChanged(before: Connection, after: Connection): WebhookEvent | undefined {
  const type = typeOfChange(before, after);
  return type && toEvent(type, after);
}

function typeOfChange(before: Connection, after: Connection): WebhookEventType | undefined {
  if (after.needsAuthorization && !before.needsAuthorization) return "connection.needs_authorization";
  if (after.verificationStatus !== before.verificationStatus && !after.needsAuthorization) {
    if (after.verificationStatus === "verified") return "connection.verified";
    if (after.verificationStatus === "failed") return "connection.failed";
  }
  return after.changedTools > before.changedTools ? "tool_changes.pending" : undefined;
}

function toEvent(type: WebhookEventType, connection: Connection): WebhookEvent {
  const { accountId, id, statusReason } = connection;
  return {
    accountId,
    type,
    subject: `connection/${id}`,
    data: {
      account_id: accountId,
      mcp_server_id: id,
      mcp_server_name: connection.name,
      server_type: connection.serverType,
      status: connectionStatus(connection),
      ...(statusReason === undefined ? {} : { status_reason: statusReason }),
      pending_tool_changes: connection.changedTools,
    },
  };
}
