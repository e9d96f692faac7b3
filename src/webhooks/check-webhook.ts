import { invalid } from "../domain-error.ts";
import { isLongerThan } from "../text-length.ts";
import { WEBHOOK_EVENT_TYPES, type WebhookEventType } from "./webhook-event.ts";

const MAX_WEBHOOK_NAME = 255;

/** Returns the rule of the outbound guard that an address breaks, or undefined. Resolves its name. */
export type CheckReceiver = (url: string) => Promise<string | undefined>;

/** Whether a webhook or delivery can have this id. PostgreSQL rejects some other texts, such as one with NUL. */
export function isPossibleWebhookId(id: string): boolean {
  return /^[A-Za-z0-9_-]{1,128}$/.test(id);
}

/** Throws `invalid` above 255 characters. */
export function checkWebhookName(name: string): string {
  if (isLongerThan(name, MAX_WEBHOOK_NAME))
    throw invalid("name", `name must have at most ${MAX_WEBHOOK_NAME} characters.`);
  if (/\p{Cc}/u.test(name)) throw invalid("name", "name must not contain control characters.");
  return name;
}

/** Returns the types without duplicates. Throws `invalid` for an unknown type and for an empty list. */
export function checkEventTypes(types: readonly string[]): readonly WebhookEventType[] {
  if (types.length === 0) throw invalid("event_types", `event_types must name at least one of: ${known()}.`);
  const checked = types.map((type) => {
    const found = WEBHOOK_EVENT_TYPES.find((each) => each === type);
    if (found !== undefined) return found;
    const shown = JSON.stringify(type.slice(0, 64));
    throw invalid("event_types", `event_types: ${shown} is not an event type; the types are: ${known()}.`);
  });
  return [...new Set(checked)];
}

/** Throws `invalid` for an address that the outbound guard refuses. */
export async function checkWebhookUrl(url: string, checkReceiver: CheckReceiver): Promise<string> {
  if (url === "") throw invalid("url", "url is required.");
  const refused = await checkReceiver(url);
  if (refused !== undefined) throw invalid("url", `url: ${refused}`);
  return url;
}

function known(): string {
  return WEBHOOK_EVENT_TYPES.join(", ");
}
