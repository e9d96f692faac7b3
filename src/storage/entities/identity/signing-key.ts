import { defineEntity } from "@mikro-orm/core";
import type { JWK } from "jose";
import { indexAs } from "../index-as.ts";

/** A key that signs tokens. Its private half is encrypted, and deleted when it is retired. */
export const SigningKeyEntity = defineEntity({
  name: "SigningKey",
  properties: (p) => ({
    id: p.text().primary(),
    purpose: p.enum(["access_token", "personal_access_token"]),
    state: p.enum(["next", "current", "retired"]),
    publicJwk: p.json<JWK>(),
    sealedPrivateJwk: p.blob().$type<Buffer>().nullable(),
    createdAt: p.datetime().defaultRaw("now()"),
    readyAt: p.datetime().defaultRaw("now()"),
    currentSince: p.datetime().nullable(),
    retiredAt: p.datetime().nullable(),
  }),
  indexes: [
    indexAs(`create unique index signing_key_current on signing_key (purpose) where state = 'current'`),
    indexAs(`create unique index signing_key_next on signing_key (purpose) where state = 'next'`),
  ],
});
