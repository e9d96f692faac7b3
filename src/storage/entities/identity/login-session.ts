import { defineEntity, p } from "@mikro-orm/core";
import { owner } from "./owner.ts";

/** A person who is logged in, in one browser; the cookie itself is not kept. */
export const LoginSessionEntity = defineEntity({
  name: "LoginSession",
  tableName: "login_session",
  properties: {
    accountId: owner("login_session_account_id_fkey"),
    id: p.text().primary(),
    secretHash: p.blob(),
    authenticatedAt: p.datetime().defaultRaw("now()"),
    lastUsedAt: p.datetime().defaultRaw("now()"),
    expiresAt: p.datetime(),
  },
  indexes: [
    {
      name: "login_session_secret",
      expression: `create unique index login_session_secret on login_session (account_id, secret_hash)`,
    },
    { name: "login_session_expiry", expression: `create index login_session_expiry on login_session (expires_at)` },
  ],
});
