import type { WebhookEvent, WebhookEventType } from "../webhooks/webhook-event.ts";
import { type Connection, connectionStatus } from "./connection.ts";

/** The event for a new connection. */
export function connectionCreated(connection: Connection): WebhookEvent {
  return toEvent("connection.created", connection);
}

/** The event for a deleted connection, with its last state. */
export function connectionDeleted(connection: Connection): WebhookEvent {
  return toEvent("connection.deleted", connection);
}

/** The event for a change, or undefined for a change that webhooks are not notified of. */
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
