import { sql } from "kysely";
import { momentAfterRevocations } from "./moment.ts";
import { prepare } from "./prepare.ts";

/** The columns of an active client that the token endpoint reads, with the issue instant of its next token. */
export const findTokenClient = prepare("client_for_token", (tables, given: { clientId: string }) =>
  tables
    .selectFrom("oauth_client as client")
    .innerJoin("account", "account.id", "client.account_id")
    .select([
      "client.account_id as accountId",
      "client.member_id as memberId",
      "client.id as clientId",
      "client.connection_id as connectionId",
      "client.secret_hash as secretHash",
      "client.scopes",
      "client.name",
      "client.redirect_uris as redirectUris",
      "client.grant_types as grantTypes",
      "client.token_endpoint_auth_method as tokenEndpointAuthMethod",
      "client.jwks",
      "client.jwks_uri as jwksUri",
      (eb) =>
        eb
          .case()
          .when("client.previous_secret_until", ">", sql<Date>`clock_timestamp()`)
          .then(eb.ref("client.previous_secret_hash"))
          .end()
          .as("previousSecretHash"),
      momentAfterRevocations(
        sql.ref("client.account_id"),
        sql`('client', ${sql.ref("client.id")})`,
        sql`('connection', ${sql.ref("client.connection_id")}::text)`,
      ).as("moment"),
    ])
    .where("client.id", "=", given.clientId)
    .where("client.revoked_at", "is", null)
    .where("account.disabled_at", "is", null),
);
