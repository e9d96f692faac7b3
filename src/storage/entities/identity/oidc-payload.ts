import { defineEntity } from "@mikro-orm/core";
import type { JsonObject } from "../../../json.ts";
import { indexAs } from "../index-as.ts";

/** State of the OAuth server between requests. */
export const OidcPayloadEntity = defineEntity({
  name: "OidcPayload",
  properties: (p) => ({
    model: p.text().primary(),
    id: p.text().primary(),
    payload: p.json<JsonObject>(),
    grantId: p.text().nullable(),
    consumedAt: p.datetime().nullable(),
    expiresAt: p.datetime().nullable(),
  }),
  indexes: [
    indexAs(`create index oidc_payload_grant on oidc_payload (grant_id) where grant_id is not null`),
    indexAs(`create index oidc_payload_expiry on oidc_payload (expires_at) where expires_at is not null`),
  ],
});
