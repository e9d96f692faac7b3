import { defineEntity } from "@mikro-orm/core";

/** A revocation of tokens that are otherwise still valid. */
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
