import { randomBytes } from "node:crypto";
import type { EntityData, InferEntity } from "@mikro-orm/core";
import { type EntityManager, LockMode, raw } from "@mikro-orm/postgresql";
import { sql } from "kysely";
import type { Connection } from "../../../connections/connection.ts";
import type { ConnectionGrants, EndedGrants } from "../../../connections/authorization/connection-grants.ts";
import type { AuthorizationTerms } from "../../../integrations/authorization.ts";
import { ConnectionEntity } from "../../entities/connections/connection.ts";
import { ConnectionGrantEntity } from "../../entities/connections/connection-grant.ts";
import { inTransaction, now, type Orm, tablesOf, transactionTime, withEntities } from "../../orm.ts";
import type { Sealer } from "../../sealing.ts";
import { NEXT_UPDATED_AT } from "../../statements/connection.ts";
import { recordEvent } from "../identity/audit-event.ts";
import { announceEvent } from "./connection-event.ts";
import { sealSecrets, toConnection } from "./connection-row.ts";
import { connectionEvent } from "./connection-write.ts";
import { sealGrant, toGrant } from "./sealed-grant.ts";

/**
 * Enqueues, within the transaction, the revocation of tokens that a connection no longer uses. Does not wait for a
 * running renewal.
 */
export type EnqueueRevocation = (em: EntityManager, accountId: string, connectionId: number) => Promise<void>;

/** The dependencies for storing grants. */
export interface ConnectionGrantsDeps {
  readonly orm: Orm;
  readonly sealer: Sealer;
  readonly enqueueVerification: (em: EntityManager, connection: Connection) => Promise<void>;
  readonly enqueueRevocation: EnqueueRevocation;
}

/**
 * Revokes the tokens of a connection, or of all connections of an account, at their vendors after the transaction has
 * deleted them here.
 */
export async function revokeGrants(
  em: EntityManager,
  accountId: string,
  connectionId: number | undefined,
  enqueue: EnqueueRevocation,
): Promise<void> {
  const where = { accountId, ...(connectionId === undefined ? {} : { connectionId }) };
  const counts = await em.countBy(ConnectionGrantEntity, "connectionId", { where });
  for (const id of Object.keys(counts)) await enqueue(em, accountId, Number(id));
}

/** The tokens of owner logins, in PostgreSQL. */
export function createConnectionGrants(deps: ConnectionGrantsDeps): ConnectionGrants {
  const { orm, sealer, enqueueRevocation } = deps;

  /**
   * Deletes the previous grant. Its tokens are revoked only if they belong to another client or server, because many
   * servers tie all tokens of a person and client together and would revoke the new tokens too.
   */
  async function replace(
    em: EntityManager,
    accountId: string,
    connectionId: number,
    terms: AuthorizationTerms,
  ): Promise<void> {
    const isInForce = { accountId, connectionId, endedAt: null };
    const rows = await em.find(ConnectionGrantEntity, isInForce, { lockMode: LockMode.PESSIMISTIC_WRITE });
    for (const row of rows) {
      if (isSameClient(toGrant(sealer, accountId, row).terms, terms)) {
        em.remove(row);
      } else {
        await em.nativeUpdate(ConnectionGrantEntity, { accountId, id: row.id }, { endedAt: now() });
        await enqueueRevocation(em, accountId, connectionId);
      }
    }
    await em.flush();
  }

  return {
    storeGrant: ({ accountId, connectionId, serverType, keyVersion, terms, tokens, secrets }, actor) =>
      inTransaction(orm, async (em) => {
        const isSameKey = { accountId, id: connectionId, keyVersion };
        const change: EntityData<InferEntity<typeof ConnectionEntity>> = {
          authMethod: "oauth2",
          needsAuthorization: false,
          wantedScope: null,
          verificationStatus: "pending",
          statusReason: null,
          keyVersion: keyVersion + 1,
          hasCredential: false,
          updatedAt: raw(NEXT_UPDATED_AT),
        };
        if (secrets !== undefined) change.sealedSecrets = sealSecrets(sealer, accountId, connectionId, secrets);
        const isCurrent = (await em.nativeUpdate(ConnectionEntity, isSameKey, change)) === 1;
        const id = randomBytes(16).toString("base64url");
        const grant = {
          accountId,
          id,
          connectionId,
          serverType,
          sealedGrant: sealGrant(sealer, accountId, id, { terms, tokens }),
        };
        if (!isCurrent) {
          em.create(ConnectionGrantEntity, { ...grant, keyVersion, endedAt: await transactionTime(em) });
          await enqueueRevocation(em, accountId, connectionId);
          return undefined;
        }
        await replace(em, accountId, connectionId, terms);
        em.create(ConnectionGrantEntity, { ...grant, keyVersion: keyVersion + 1 });
        const connection = toConnection(
          accountId,
          await em.findOneOrFail(ConnectionEntity, { accountId, id: connectionId }),
        );
        recordEvent(em, connectionEvent(connection, "connection.authorize", actor));
        await announceEvent(em, { accountId, connectionId, event: "updated" });
        await deps.enqueueVerification(em, connection);
        return connection;
      }),
  };
}

/** Tokens that are no longer used, in PostgreSQL. */
export function createEndedGrants({ orm, sealer }: Pick<ConnectionGrantsDeps, "orm" | "sealer">): EndedGrants {
  return {
    endUnused: (accountId, connectionId) =>
      withEntities(orm, async (em) => {
        await tablesOf(em)
          .updateTable("connection_grant as unused")
          .set({ ended_at: sql`now()` })
          .where(({ and }) => and({ account_id: accountId, connection_id: connectionId }))
          .where("ended_at", "is", null)
          .where(({ not, exists, selectFrom }) => {
            const using = selectFrom("connection").select("id").where("account_id", "=", accountId);
            return not(
              exists(
                using
                  .where("id", "=", connectionId)
                  .where("auth_method", "=", "oauth2")
                  .whereRef("connection.key_version", "=", "unused.key_version"),
              ),
            );
          })
          .execute();
        const rows = await em.find(ConnectionGrantEntity, { accountId, connectionId, endedAt: { $ne: null } });
        return rows.map((row) => ({ ...toGrant(sealer, accountId, row), serverType: row.serverType }));
      }),
    async dropEnded(accountId, id) {
      await withEntities(orm, (em) => em.nativeDelete(ConnectionGrantEntity, { accountId, id }));
    },
  };
}

function isSameClient(one: AuthorizationTerms, other: AuthorizationTerms): boolean {
  return one.server.issuer === other.server.issuer && one.client.clientId === other.client.clientId;
}
