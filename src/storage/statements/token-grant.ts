import { sql } from "kysely";
import { momentAfterRevocations } from "./moment.ts";
import { named } from "./named.ts";
import { prepare } from "./prepare.ts";

/** An active grant with the data that its next token needs. */
export const findTokenGrant = prepare("grant_for_token", (tables, given: { id: string }) =>
  tables
    .selectFrom("oauth_grant")
    .innerJoin("account", "account.id", "oauth_grant.account_id")
    .select([
      ...named(
        "accountId",
        "memberId",
        "clientId",
        "clientName",
        "redirectUri",
        "scopes",
        "resource",
        "connectionIds",
        "lastUsedAt",
      ),
      "oauth_grant.id",
      "oauth_grant.created_at as createdAt",
      "account.is_admin as isAdmin",
      momentAfterRevocations(
        sql.ref("oauth_grant.account_id"),
        sql`('grant', ${sql.ref("oauth_grant.id")})`,
        sql`('client', ${sql.ref("oauth_grant.client_id")})`,
      ).as("moment"),
    ])
    .where("oauth_grant.id", "=", given.id)
    .where("revoked_at", "is", null)
    .where("disabled_at", "is", null),
);

/** The connections that tokens of an active grant may access. */
export const findGrantReach = prepare("grant_reach", (tables, given: { accountId: string; id: string }) =>
  tables
    .selectFrom("oauth_grant")
    .select(named("connectionIds", "memberId"))
    .where(({ and }) => and({ account_id: given.accountId, id: given.id }))
    .where("revoked_at", "is", null),
);
