import { defineEntity, p } from "@mikro-orm/core";
import { connectionReference } from "./connection-reference.ts";
import { indexAs } from "../index-as.ts";

/** A pending authorization of a connection. Its terms and PKCE verifier are encrypted together. */
export const AuthorizationRequestEntity = defineEntity({
  name: "AuthorizationRequest",
  properties: {
    accountId: p.text().primary(),
    id: p.text().primary(),
    connectionId: p.integer(),
    connection: () => connectionReference("authorization_request_connection_fkey"),
    ticketHash: p.blob(),
    expiresAt: p.datetime(),
    sessionId: p.text().nullable(),
    stateHash: p.blob().nullable(),
    keyVersion: p.integer().nullable(),
    sealedFlow: p.blob().$type<Buffer>().nullable(),
  },
  indexes: [
    indexAs(`create unique index authorization_request_ticket on authorization_request (account_id, ticket_hash)`),
    indexAs(`create unique index authorization_request_state on authorization_request (account_id, state_hash)`),
    { name: "authorization_request_connection", properties: ["accountId", "connectionId"] },
    { name: "authorization_request_expiry", properties: ["expiresAt"] },
    indexAs(
      `create index authorization_request_sealed_version on authorization_request (substring(sealed_flow from 2 for 4))`,
    ),
  ],
});
