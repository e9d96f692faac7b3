import type { ClientStore } from "../../../identity/clients/clients.ts";
import type { OAuthClientStore } from "../../../identity/clients/oauth-client.ts";
import type { Database } from "../../database.ts";
import { OauthClientEntity } from "../../entities/identity/oauth-client.ts";
import { withEntities } from "../../orm.ts";
import { findTokenClient } from "../../statements/token-client.ts";
import { createOAuthClientStore } from "./oauth-client.ts";

/** OAuth clients in PostgreSQL, for the token endpoint and for their owners. */
export function createClientStore({ orm, pool }: Pick<Database, "orm" | "pool">): ClientStore & OAuthClientStore {
  return {
    ...createOAuthClientStore(orm),
    async findForToken(clientId) {
      const [row] = (await findTokenClient(pool, { clientId })).rows;
      if (row === undefined) return undefined;
      const { moment: issuedAt, ...client } = row;
      return {
        ...client,
        issuedAt,
        memberId: row.memberId ?? undefined,
        connectionId: row.connectionId ?? undefined,
        secretHash: row.secretHash ?? undefined,
        previousSecretHash: row.previousSecretHash ?? undefined,
        jwks: row.jwks ?? undefined,
        jwksUri: row.jwksUri ?? undefined,
      };
    },
    async findOwner(id) {
      const client = await withEntities(orm, (em) => em.findOne(OauthClientEntity, { id, revokedAt: null }));
      return client?.accountId;
    },
  };
}
