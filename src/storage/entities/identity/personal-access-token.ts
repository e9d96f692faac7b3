import { defineEntity, p } from "@mikro-orm/core";
import type { Scope } from "../../../identity/scopes.ts";
import { owner } from "./owner.ts";
import { connectionReference } from "../connections/connection-reference.ts";
import { indexAs } from "../index-as.ts";

/** A personal access token. The token itself is not stored. */
export const PersonalAccessTokenEntity = defineEntity({
  name: "PersonalAccessToken",
  properties: {
    accountId: owner("personal_access_token_account_id_fkey"),
    id: p.text().primary(),
    memberId: p.text().nullable(),
    clientId: p.text(),
    name: p.text().default(""),
    scopes: p.array<Scope>().columnType("text[]"),
    connectionId: p.integer().nullable(),
    connection: () => connectionReference("personal_access_token_account_id_connection_id_fkey"),
    createdAt: p.datetime().defaultRaw("now()"),
    expiresAt: p.datetime().nullable(),
    revokedAt: p.datetime().nullable(),
    lastUsedAt: p.datetime().nullable(),
    replacedBy: p.text().nullable(),
  },
  indexes: [
    { name: "personal_access_token_id", properties: ["id"] },
    indexAs(
      `create index personal_access_token_connection on personal_access_token (account_id, connection_id) where connection_id is not null`,
    ),
    indexAs(`create index personal_access_token_in_use on personal_access_token (created_at) where revoked_at is null`),
  ],
});
