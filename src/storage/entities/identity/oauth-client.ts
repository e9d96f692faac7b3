import { defineEntity, p } from "@mikro-orm/core";
import type { GrantType } from "../../../identity/clients/oauth-client.ts";
import type { Scope } from "../../../identity/scopes.ts";
import type { JsonObject } from "../../../json.ts";
import { owner } from "./owner.ts";
import { connectionReference } from "../connections/connection-reference.ts";
import { indexAs } from "../index-as.ts";

/** An OAuth client of a person or of a connection. */
export const OauthClientEntity = defineEntity({
  name: "OauthClient",
  properties: {
    accountId: owner("oauth_client_account_id_fkey"),
    id: p.text().primary(),
    memberId: p.text().nullable(),
    connectionId: p.integer().nullable(),
    connection: () => connectionReference("oauth_client_account_id_connection_id_fkey"),
    name: p.text().default(""),
    secretHash: p.blob().nullable(),
    scopes: p.array<Scope>().columnType("text[]"),
    createdAt: p.datetime().defaultRaw("now()"),
    revokedAt: p.datetime().nullable(),
    redirectUris: p.array().columnType("text[]").defaultRaw("'{}'"),
    grantTypes: p.array<GrantType>().columnType("text[]").defaultRaw("'{client_credentials}'"),
    tokenEndpointAuthMethod: p.enum(["client_secret_basic", "private_key_jwt", "none"]).default("client_secret_basic"),
    jwks: p.json<JsonObject>().nullable(),
    jwksUri: p.text().nullable(),
    previousSecretHash: p.blob().nullable(),
    previousSecretUntil: p.datetime().nullable(),
    secretRotatedAt: p.datetime().nullable(),
  },
  indexes: [
    { name: "oauth_client_id", properties: ["id"] },
    indexAs(
      `create index oauth_client_connection on oauth_client (account_id, connection_id) where connection_id is not null`,
    ),
  ],
});
