import { randomBytes } from "node:crypto";
import { Webhook as StandardWebhook } from "standardwebhooks";

const SECRET_PREFIX = "whsec_";

/** A secret of 256 random bits in the format of Standard Webhooks. */
export function randomWebhookSecret(): string {
  return SECRET_PREFIX + randomBytes(32).toString("base64");
}

/** The headers that an attempt sends for its signature. */
export type SignedHeaders = Readonly<Record<"webhook-id" | "webhook-timestamp" | "webhook-signature", string>>;

/**
 * The headers of Standard Webhooks (https://www.standardwebhooks.com). With several secrets there is a signature for
 * each, so that a receiver can verify with the previous secret during a rotation.
 */
export function signWebhook(secrets: readonly string[], id: string, payload: string, sentAt: Date): SignedHeaders {
  return {
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(sentAt.getTime() / 1_000)),
    "webhook-signature": secrets.map((secret) => new StandardWebhook(secret).sign(id, sentAt, payload)).join(" "),
  };
}
