import { defineEntity, p } from "@mikro-orm/core";
import { owner } from "./owner.ts";
import { indexAs } from "../index-as.ts";

/** The login of a person in one browser. Only a hash of the cookie is stored. */
export const LoginSessionEntity = defineEntity({
  name: "LoginSession",
  properties: {
    accountId: owner("login_session_account_id_fkey"),
    id: p.text().primary(),
    secretHash: p.blob(),
    authenticatedAt: p.datetime().defaultRaw("now()"),
    lastUsedAt: p.datetime().defaultRaw("now()"),
    expiresAt: p.datetime(),
  },
  indexes: [
    indexAs(`create unique index login_session_secret on login_session (account_id, secret_hash)`),
    { name: "login_session_expiry", properties: ["expiresAt"] },
  ],
});
