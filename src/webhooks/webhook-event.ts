import type { JsonObject } from "../json.ts";

/** The event types that the service sends. A type is added together with the change that it reports. */
export const WEBHOOK_EVENT_TYPES = [
  "connection.created",
  "connection.verified",
  "connection.failed",
  "connection.needs_authorization",
  "connection.deleted",
  "tool_changes.pending",
] as const;

export type WebhookEventType = (typeof WEBHOOK_EVENT_TYPES)[number];

/** An event before it is stored for the webhooks that want it. */
export interface WebhookEvent {
  readonly accountId: string;
  readonly type: WebhookEventType;
  /** The object that the event is about, such as `connection/7`. Events with the same subject are delivered in order. */
  readonly subject: string;
  /** Contains no secrets. */
  readonly data: JsonObject;
}
