import { DomainError, invalid } from "../domain-error.ts";
import { type Caller, toActor } from "../identity/actor.ts";
import type { Principal } from "../identity/principal.ts";
import { checkPage, DEFAULT_PAGE, type PageQuery } from "../page.ts";
import { isPossibleWebhookId } from "./check-webhook.ts";
import { requireReach } from "./own-webhooks.ts";
import { DELIVERY_STATUSES, type WebhookDelivery } from "./webhook.ts";
import type { DeliveryStore } from "./webhook-store.ts";

/** Undefined fields match all deliveries. */
export interface DeliveryQuery extends PageQuery {
  readonly webhookId: string | undefined;
  readonly status: string | undefined;
}

/**
 * Use cases for the deliveries of the caller's account. Throws `not_found` for a delivery that is missing or of another
 * account, and `forbidden` for a token limited to some connections.
 */
export interface OwnDeliveries {
  /** Newest first. */
  list(
    principal: Principal,
    query: DeliveryQuery,
  ): Promise<{
    readonly deliveries: readonly WebhookDelivery[];
    readonly totalCount: number;
    readonly hasMore: boolean;
  }>;
  get(principal: Principal, id: string): Promise<WebhookDelivery>;
  /** Sends the event again, also after it was delivered. Throws `conflict` if the webhook is disabled. */
  resend(caller: Caller, id: string): Promise<WebhookDelivery>;
}

export function createOwnDeliveries(store: DeliveryStore): OwnDeliveries {
  return {
    async list(principal, query) {
      requireReach(principal, "view webhook deliveries");
      checkPage(query);
      const { webhookId, limit = DEFAULT_PAGE, offset = 0 } = query;
      const status = DELIVERY_STATUSES.find((each) => each === query.status);
      if (query.status !== undefined && status === undefined)
        throw invalid("status", `status must be one of ${DELIVERY_STATUSES.join(", ")}.`);
      const { deliveries, totalCount } = await store.list(principal.accountId, { webhookId, status }, limit, offset);
      return { deliveries, totalCount, hasMore: offset + deliveries.length < totalCount };
    },

    async get(principal, id) {
      requireReach(principal, "view this webhook delivery");
      return existing(isPossibleWebhookId(id) ? await store.find(principal.accountId, id) : undefined, id);
    },

    async resend(caller, id) {
      requireReach(caller, "resend this webhook delivery");
      const resent = isPossibleWebhookId(id) ? await store.resend(caller.accountId, id, toActor(caller)) : undefined;
      return existing(resent, id);
    },
  };
}

/** The message echoes at most 64 printable characters of the id. */
function existing(delivery: WebhookDelivery | undefined, id: string): WebhookDelivery {
  if (delivery !== undefined) return delivery;
  const shown = id.slice(0, 64).replace(/[^\x20-\x7e]/g, "?");
  throw new DomainError("not_found", `Webhook delivery ${shown} not found or not accessible`);
}
