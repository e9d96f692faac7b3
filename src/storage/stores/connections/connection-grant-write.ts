import { randomBytes } from "node:crypto";
import type pg from "pg";
import type { Connection } from "../../../connections/connection.ts";
import type { ConnectionGrants, EndedGrants } from "../../../connections/authorization/connection-grants.ts";
import type { AuthorizationTerms } from "../../../integrations/authorization.ts";
import type { Sealer } from "../../sealing.ts";
import { transaction } from "../../transaction.ts";
import { actorParameter, auditing } from "../identity/audit-event.ts";
import { announce } from "./connection-event.ts";
import { CONNECTION_COLUMNS, type ConnectionRow, sealSecrets, toConnection } from "./connection-row.ts";
import { NEXT_UPDATED_AT } from "./connection-write.ts";
import { runStatement } from "../run-statement.ts";
import { GRANT_COLUMNS, type GrantRow, sealGrant, toGrant } from "./sealed-grant.ts";

/**
 * Puts the revocation of what a connection uses no longer in the queue, within the transaction, which waits for no renewal
 * under way.
 */
export type EnqueueRevocation = (client: pg.PoolClient, accountId: string, connectionId: number) => Promise<void>;

/** What storing grants needs. */
export interface ConnectionGrantsDeps {
  readonly pool: pg.Pool;
  readonly sealer: Sealer;
  readonly enqueueVerification: (client: pg.PoolClient, connection: Connection) => Promise<void>;
  readonly enqueueRevocation: EnqueueRevocation;
}

const AUTHORIZE = {
  name: "connection_authorize",
  text: `with changed as (
      update connection set auth_method = 'oauth2', needs_authorization = false, wanted_scope = null,
        verification_status = 'pending', status_reason = null, key_version = key_version + 1, has_credential = false,
        sealed_secrets = case when $5 then $6 else sealed_secrets end,
        updated_at = ${NEXT_UPDATED_AT}
      where account_id = $1 and id = $2 and key_version = $3
      returning ${CONNECTION_COLUMNS}),
    ${auditing({ action: "connection.authorize", objectType: "connection", objectName: "changed.name" }, 4)}
    select changed.*, ${announce("updated")} from changed`,
};
const INSERT = {
  name: "connection_grant_insert",
  text: `insert into connection_grant (account_id, id, connection_id, server_type, key_version, sealed_grant, ended_at)
    values ($1, $2, $3, $4, $5, $6, case when $7 then now() end)`,
};
const TAKE = {
  name: "connection_grant_take",
  text: `select ${GRANT_COLUMNS} from connection_grant
    where account_id = $1 and connection_id = $2 and ended_at is null for update`,
};
const END = {
  name: "connection_grant_end",
  text: "update connection_grant set ended_at = now() where account_id = $1 and id = $2",
};
const END_UNUSED = {
  name: "connection_grant_end_unused",
  text: `update connection_grant as unused set ended_at = now()
    where account_id = $1 and connection_id = $2 and ended_at is null and not exists (
      select 1 from connection where account_id = $1 and id = $2 and auth_method = 'oauth2'
        and key_version = unused.key_version)`,
};
const LIST_ENDED = {
  name: "connection_grant_list_ended",
  text: `select ${GRANT_COLUMNS}, server_type from connection_grant
    where account_id = $1 and connection_id = $2 and ended_at is not null`,
};
const WITH_GRANTS = {
  name: "connection_grant_connections",
  text: `select distinct connection_id from connection_grant
    where account_id = $1 and ($2::integer is null or connection_id = $2)`,
};
const DROP = { name: "connection_grant_drop", text: "delete from connection_grant where account_id = $1 and id = $2" };

/**
 * Has the tokens of a connection, or of all of an account, revoked at their third parties once this transaction has taken
 * what used them.
 */
export async function revokeGrants(
  client: pg.PoolClient,
  accountId: string,
  connectionId: number | undefined,
  enqueue: EnqueueRevocation,
): Promise<void> {
  const values = [accountId, connectionId ?? null];
  const { rows } = await runStatement<{ connection_id: number }>(client, { ...WITH_GRANTS, values });
  for (const row of rows) await enqueue(client, accountId, row.connection_id);
}

/** What owners' logins brought, in PostgreSQL. */
export function createConnectionGrants(deps: ConnectionGrantsDeps): ConnectionGrants {
  const { pool, sealer, enqueueRevocation } = deps;

  /**
   * Makes room for another grant. Servers often tie all tokens of one person and client together, so that to revoke the old
   * ones would end the new ones too: that is done only where they are of another client or server.
   */
  async function replace(
    client: pg.PoolClient,
    accountId: string,
    connectionId: number,
    terms: AuthorizationTerms,
  ): Promise<void> {
    const { rows } = await runStatement<GrantRow>(client, { ...TAKE, values: [accountId, connectionId] });
    for (const row of rows) {
      const isSame = isSameClient(toGrant(sealer, accountId, row).terms, terms);
      await runStatement(client, { ...(isSame ? DROP : END), values: [accountId, row.id] });
      if (!isSame) await enqueueRevocation(client, accountId, connectionId);
    }
  }

  return {
    storeGrant: ({ accountId, connectionId, serverType, keyVersion, terms, tokens, secrets }, actor) =>
      transaction(pool, async (client) => {
        const kept = secrets === undefined ? null : sealSecrets(sealer, accountId, connectionId, secrets);
        const values = [accountId, connectionId, keyVersion, actorParameter(actor), secrets !== undefined, kept];
        const row = (await runStatement<ConnectionRow>(client, { ...AUTHORIZE, values })).rows[0];
        const id = randomBytes(16).toString("base64url");
        const sealed = sealGrant(sealer, accountId, id, { terms, tokens });
        if (row !== undefined) await replace(client, accountId, connectionId, terms);
        await runStatement(client, {
          ...INSERT,
          values: [accountId, id, connectionId, serverType, row?.key_version ?? keyVersion, sealed, row === undefined],
        });
        if (row === undefined) {
          await enqueueRevocation(client, accountId, connectionId);
          return undefined;
        }
        const connection = toConnection(accountId, row);
        await deps.enqueueVerification(client, connection);
        return connection;
      }),
  };
}

/** Tokens that are used no longer, in PostgreSQL. */
export function createEndedGrants({ pool, sealer }: Pick<ConnectionGrantsDeps, "pool" | "sealer">): EndedGrants {
  return {
    async endUnused(accountId, connectionId) {
      const values = [accountId, connectionId];
      await runStatement(pool, { ...END_UNUSED, values });
      const { rows } = await runStatement<GrantRow & { server_type: string }>(pool, { ...LIST_ENDED, values });
      return rows.map((row) => ({ ...toGrant(sealer, accountId, row), serverType: row.server_type }));
    },
    async dropEnded(accountId, grantId) {
      await runStatement(pool, { ...DROP, values: [accountId, grantId] });
    },
  };
}

function isSameClient(one: AuthorizationTerms, other: AuthorizationTerms): boolean {
  return one.server.issuer === other.server.issuer && one.client.clientId === other.client.clientId;
}
