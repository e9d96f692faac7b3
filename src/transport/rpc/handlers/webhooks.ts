import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  CreateWebhookResponseSchema,
  DeleteWebhookResponseSchema,
  GetWebhookDeliveryResponseSchema,
  GetWebhookResponseSchema,
  ListWebhookDeliveriesResponseSchema,
  ListWebhooksResponseSchema,
  ResendWebhookDeliveryResponseSchema,
  RotateWebhookSecretResponseSchema,
  UpdateWebhookResponseSchema,
  type WebhookService,
} from "../../../../gen/proto/patchbay/v1/webhook_service_pb.ts";
import type { OwnDeliveries } from "../../../webhooks/own-deliveries.ts";
import type { OwnWebhooks } from "../../../webhooks/own-webhooks.ts";
import type { CallerOf } from "../caller.ts";
import { toWireWebhook, toWireWebhookDelivery } from "../mappers/webhook.ts";
import { fromUpdateWebhookRequest } from "../mappers/webhook-change.ts";
import { principalOf } from "../principal.ts";

/** Handlers of WebhookService. */
export function createWebhookHandlers(
  { webhooks, deliveries }: { readonly webhooks: OwnWebhooks; readonly deliveries: OwnDeliveries },
  callerOf: CallerOf,
): ServiceImpl<typeof WebhookService> {
  return {
    async createWebhook({ name, url, eventTypes }, context) {
      const { webhook, secret } = await webhooks.create(callerOf(context), { name, url, eventTypes });
      context.responseHeader.set("Location", `/api/v1/webhooks/${webhook.id}`);
      return create(CreateWebhookResponseSchema, { success: true, data: toWireWebhook(webhook), secret });
    },

    async listWebhooks({ limit, offset }, context) {
      const listed = await webhooks.list(principalOf(context), { limit, offset });
      const { totalCount, hasMore } = listed;
      const data = listed.webhooks.map(toWireWebhook);
      return create(ListWebhooksResponseSchema, { success: true, data, totalCount, hasMore });
    },

    async getWebhook({ webhookId }, context) {
      const webhook = await webhooks.get(principalOf(context), webhookId);
      return create(GetWebhookResponseSchema, { success: true, data: toWireWebhook(webhook) });
    },

    async updateWebhook(request, context) {
      const webhook = await webhooks.update(callerOf(context), request.webhookId, fromUpdateWebhookRequest(request));
      return create(UpdateWebhookResponseSchema, { success: true, data: toWireWebhook(webhook) });
    },

    async rotateWebhookSecret({ webhookId, graceSeconds }, context) {
      const { webhook, secret } = await webhooks.rotateSecret(callerOf(context), webhookId, graceSeconds);
      return create(RotateWebhookSecretResponseSchema, { success: true, data: toWireWebhook(webhook), secret });
    },

    async deleteWebhook({ webhookId }, context) {
      await webhooks.delete(callerOf(context), webhookId);
      return create(DeleteWebhookResponseSchema, { success: true, message: "Webhook deleted" });
    },

    async listWebhookDeliveries({ webhookId, status, limit, offset }, context) {
      const listed = await deliveries.list(principalOf(context), { webhookId, status, limit, offset });
      const { totalCount, hasMore } = listed;
      const data = listed.deliveries.map(toWireWebhookDelivery);
      return create(ListWebhookDeliveriesResponseSchema, { success: true, data, totalCount, hasMore });
    },

    async getWebhookDelivery({ deliveryId }, context) {
      const delivery = await deliveries.get(principalOf(context), deliveryId);
      const data = toWireWebhookDelivery(delivery);
      return create(GetWebhookDeliveryResponseSchema, { success: true, data, payload: delivery.payload });
    },

    async resendWebhookDelivery({ deliveryId }, context) {
      const delivery = await deliveries.resend(callerOf(context), deliveryId);
      return create(ResendWebhookDeliveryResponseSchema, { success: true, data: toWireWebhookDelivery(delivery) });
    },
  };
}
