import type { UpdateWebhookRequest } from "../../../../gen/proto/patchbay/v1/webhook_service_pb.ts";
import type { WebhookChange } from "../../../webhooks/own-webhooks.ts";
import { readUpdateMask, type SuppliedFields } from "./update-mask.ts";

/** What an update request changes. Throws `invalid` for a mask that does not fit the request. */
export function fromUpdateWebhookRequest(request: UpdateWebhookRequest): WebhookChange {
  const isNamed = readUpdateMask(request, SUPPLIED);
  return {
    name: isNamed("name") ? request.name : undefined,
    url: isNamed("url") ? request.url : undefined,
    eventTypes: isNamed("event_types") ? request.eventTypes : undefined,
    enabled: isNamed("enabled") ? request.enabled : undefined,
  };
}

const SUPPLIED: SuppliedFields<UpdateWebhookRequest> = {
  name: (request) => request.name !== undefined,
  url: (request) => request.url !== undefined,
  event_types: (request) => request.eventTypes.length > 0 || "unknown",
  enabled: (request) => request.enabled !== undefined,
};
