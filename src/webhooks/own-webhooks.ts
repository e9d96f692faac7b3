import { DomainError } from "../domain-error.ts";
import { type Caller, toActor } from "../identity/actor.ts";
import { checkGrace } from "../identity/grace.ts";
import { mayCreateCredentials, type Principal, reachesAll } from "../identity/principal.ts";
import { randomId } from "../identity/random.ts";
import { checkPage, DEFAULT_PAGE, type PageQuery } from "../page.ts";
import {
  type CheckReceiver,
  checkEventTypes,
  checkWebhookName,
  checkWebhookUrl,
  isPossibleWebhookId,
} from "./check-webhook.ts";
import { randomWebhookSecret } from "./sign-webhook.ts";
import { MAX_WEBHOOKS, type Webhook } from "./webhook.ts";
import type { WebhookStore } from "./webhook-store.ts";

export interface WebhookDraft {
  readonly name: string | undefined;
  readonly url: string;
  readonly eventTypes: readonly string[];
}

/** Undefined fields keep their values. */
export interface WebhookChange {
  readonly name: string | undefined;
  readonly url: string | undefined;
  readonly eventTypes: readonly string[] | undefined;
  readonly enabled: boolean | undefined;
}

/** The secret is shown only here. */
export interface WebhookWithSecret {
  readonly webhook: Webhook;
  readonly secret: string;
}

/**
 * Use cases for the webhooks of the caller's account. Throws `not_found` for a webhook that is missing or of another
 * account, and `forbidden` for a token limited to some connections, because events tell of all connections. A client under
 * a grant cannot create or change a webhook, which would outlive the grant.
 */
export interface OwnWebhooks {
  create(caller: Caller, draft: WebhookDraft): Promise<WebhookWithSecret>;
  list(
    principal: Principal,
    page: PageQuery,
  ): Promise<{ readonly webhooks: readonly Webhook[]; readonly totalCount: number; readonly hasMore: boolean }>;
  get(principal: Principal, id: string): Promise<Webhook>;
  update(caller: Caller, id: string, change: WebhookChange): Promise<Webhook>;
  rotateSecret(caller: Caller, id: string, graceSeconds: number | undefined): Promise<WebhookWithSecret>;
  delete(caller: Caller, id: string): Promise<void>;
}

/** `onChange` is called after a webhook is created or updated, before the response. */
export function createOwnWebhooks({
  store,
  checkReceiver,
  onChange,
}: {
  readonly store: WebhookStore;
  readonly checkReceiver: CheckReceiver;
  readonly onChange: (accountId: string) => void;
}): OwnWebhooks {
  async function get(principal: Principal, id: string): Promise<Webhook> {
    requireReach(principal, "view this webhook");
    checkId(id);
    return existing(await store.find(principal.accountId, id), id);
  }

  return {
    async create(caller, draft) {
      requireOwnToken(caller, "create webhooks");
      const { accountId } = caller;
      const name = checkWebhookName(draft.name ?? "");
      const eventTypes = checkEventTypes(draft.eventTypes);
      const url = await checkWebhookUrl(draft.url, checkReceiver);
      const secret = randomWebhookSecret();
      const fresh = { accountId, id: randomId("webhook_"), name, url, eventTypes, secret };
      const webhook = await store.insert(fresh, MAX_WEBHOOKS, toActor(caller));
      onChange(accountId);
      return { webhook, secret };
    },

    async list(principal, page) {
      requireReach(principal, "view webhooks");
      checkPage(page);
      const { limit = DEFAULT_PAGE, offset = 0 } = page;
      const { webhooks, totalCount } = await store.list(principal.accountId, limit, offset);
      return { webhooks, totalCount, hasMore: offset + webhooks.length < totalCount };
    },

    get,

    async update(caller, id, change) {
      requireOwnToken(caller, "update this webhook");
      const checked = {
        name: change.name === undefined ? undefined : checkWebhookName(change.name),
        eventTypes: change.eventTypes === undefined ? undefined : checkEventTypes(change.eventTypes),
        enabled: change.enabled,
      };
      // Looked up first, so that the name of a receiver is not resolved for a webhook of another account.
      await get(caller, id);
      const url = change.url === undefined ? undefined : await checkWebhookUrl(change.url, checkReceiver);
      const updated = await store.update(caller.accountId, id, { ...checked, url }, toActor(caller));
      onChange(caller.accountId);
      return existing(updated, id);
    },

    async rotateSecret(caller, id, graceSeconds) {
      requireOwnToken(caller, "rotate the secret of this webhook");
      checkId(id);
      const grace = checkGrace(graceSeconds);
      const secret = randomWebhookSecret();
      const rotated = await store.rotateSecret(caller.accountId, id, secret, grace, toActor(caller));
      return { webhook: existing(rotated, id), secret };
    },

    async delete(caller, id) {
      requireReach(caller, "delete this webhook");
      checkId(id);
      if (!(await store.delete(caller.accountId, id, toActor(caller)))) throw webhookNotFound(id);
    },
  };
}

/** Throws `forbidden` for a token limited to some connections. */
export function requireReach(principal: Principal, what: string): void {
  if (!reachesAll(principal)) throw new DomainError("forbidden", `You do not have permission to ${what}.`);
}

/** Also throws `forbidden` for a client under a grant. */
function requireOwnToken(principal: Principal, what: string): void {
  requireReach(principal, what);
  if (!mayCreateCredentials(principal)) throw new DomainError("forbidden", `You do not have permission to ${what}.`);
}

function checkId(id: string): void {
  if (!isPossibleWebhookId(id)) throw webhookNotFound(id);
}

function existing(webhook: Webhook | undefined, id: string): Webhook {
  if (webhook === undefined) throw webhookNotFound(id);
  return webhook;
}

/** Echoes at most 64 printable characters of the id. */
function webhookNotFound(id: string): DomainError {
  const shown = id.slice(0, 64).replace(/[^\x20-\x7e]/g, "?");
  return new DomainError("not_found", `Webhook ${shown} not found or not accessible`);
}
