import { defineEntity } from "@mikro-orm/core";

/** What is no longer honoured although its signature still holds. */
export const RevocationEntity = defineEntity({
  name: "Revocation",
  properties: (p) => ({
    accountId: p.text().primary(),
    kind: p.enum(["token", "client", "connection", "account", "grant"]).primary(),
    subject: p.text().primary(),
    issuedBefore: p.datetime().nullable(),
    revokedAt: p.datetime().defaultRaw("now()"),
    expiresAt: p.datetime().nullable(),
  }),
  indexes: [{ name: "revocation_expiry", properties: ["expiresAt"] }],
});
