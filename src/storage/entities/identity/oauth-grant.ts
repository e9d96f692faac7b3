import { defineEntity } from "@mikro-orm/core";
import type { Scope } from "../../../identity/scopes.ts";
import { owner } from "./owner.ts";
import { indexAs } from "../index-as.ts";

/** The access that a person granted to a client. */
export const OauthGrantEntity = defineEntity({
  name: "OauthGrant",
  properties: (p) => ({
    accountId: owner("oauth_grant_account_id_fkey"),
    id: p.text().primary(),
    memberId: p.text().nullable(),
    clientId: p.text(),
    clientName: p.text(),
    redirectUri: p.text(),
    scopes: p.array<Scope>().columnType("text[]"),
    resource: p.text(),
    connectionIds: p.array<number>().columnType("integer[]").nullable(),
    createdAt: p.datetime().defaultRaw("now()"),
    lastUsedAt: p.datetime().nullable(),
    revokedAt: p.datetime().nullable(),
  }),
  indexes: [
    { name: "oauth_grant_id", properties: ["id"] },
    indexAs(`create index oauth_grant_client on oauth_grant (client_id, account_id) where revoked_at is null`),
  ],
});
