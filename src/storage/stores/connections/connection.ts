import type { Connection } from "../../../connections/connection.ts";
import type { ConnectionStore } from "../../../connections/connection-store.ts";
import { isJsonObject } from "../../../json.ts";
import { announce } from "./connection-event.ts";
import { createConnectionWrites, type ConnectionWriteDeps, NEXT_UPDATED_AT } from "./connection-write.ts";
import { type ConnectionRow, secretsPlace, SHOWN_COLUMNS, toConnection } from "./connection-row.ts";
import type { StatementRunner } from "../../reads.ts";
import { runStatement } from "../run-statement.ts";

const FIND = {
  name: "connection_find",
  text: `select ${SHOWN_COLUMNS} from connection where account_id = $1 and id = $2`,
};
const LIST = {
  name: "connection_list",
  text: `select ${SHOWN_COLUMNS} from connection where account_id = $1 order by id`,
};
const PAGE = {
  name: "connection_page",
  text: `select ${SHOWN_COLUMNS} from connection where account_id = $1 order by id limit $2 offset $3`,
};
const COUNT = {
  name: "connection_count",
  text: "select count(*)::integer as count from connection where account_id = $1",
};
const SECRETS = {
  name: "connection_secrets",
  text: "select sealed_secrets from connection where account_id = $1 and id = $2 and key_version = $3",
};
const VERIFY = {
  name: "connection_verified",
  text: `with changed as (
      update connection set verification_status = $4, status_reason = $5, updated_at = ${NEXT_UPDATED_AT}
      where account_id = $1 and id = $2 and key_version = $3
        and not needs_authorization and (verification_status, status_reason) is distinct from ($4, $5)
      returning account_id, id)
    select ${announce("updated")} from changed`,
};
const REQUIRE_AUTHORIZATION = {
  name: "connection_require_authorization",
  text: `with changed as (
      update connection set
        verification_status = case
          when $5::text is not null then verification_status
          when auth_method = 'configured' and verification_status = 'pending' then 'pending'
          else 'failed' end,
        auth_method = 'oauth2', needs_authorization = true, wanted_scope = coalesce($5::text, wanted_scope), status_reason = $4,
        updated_at = ${NEXT_UPDATED_AT}
      where account_id = $1 and id = $2 and key_version = $3
        and not (needs_authorization and status_reason is not distinct from $4
          and case when $5::text is null then verification_status <> 'verified' else wanted_scope is not distinct from $5 end)
      returning account_id, id)
    select ${announce("updated")} from changed`,
};
const ADOPT = {
  name: "connection_adopt_tools",
  text: `with changed as (
      update connection set
        disabled_tool_ids = case when known_tool_ids is null then disabled_tool_ids
          else array(select distinct unnest(disabled_tool_ids || $3::integer[]) order by 1) end,
        known_tool_ids = array(select distinct unnest(coalesce(known_tool_ids, '{}') || $3::integer[]) order by 1),
        updated_at = ${NEXT_UPDATED_AT}
      where account_id = $1 and id = $2 and access_type = 'individual'
        and not coalesce(known_tool_ids, '{}') @> $3::integer[]
      returning account_id, id)
    select ${announce("updated")} from changed`,
};

/** What the store needs: `reads` serves what is hot; without it the pool does. */
export interface ConnectionStoreDeps extends ConnectionWriteDeps {
  readonly reads?: StatementRunner;
}

/** Connections in PostgreSQL: named prepared statements for what is hot, transactions for what entails more. */
export function createConnectionStore(deps: ConnectionStoreDeps): ConnectionStore {
  const { pool, reads = pool, sealer } = deps;

  async function select(
    statement: { name: string; text: string },
    accountId: string,
    ...values: readonly unknown[]
  ): Promise<Connection[]> {
    const { rows } = await runStatement<ConnectionRow>(reads, { ...statement, values: [accountId, ...values] });
    return rows.map((row) => toConnection(accountId, row));
  }

  return {
    ...createConnectionWrites(deps),
    async find(accountId, id) {
      return (await select(FIND, accountId, id))[0];
    },
    list: (accountId) => select(LIST, accountId),
    async listPage(accountId, limit, offset) {
      const [connections, counted] = await Promise.all([
        select(PAGE, accountId, limit, offset),
        runStatement<{ count: number }>(pool, { ...COUNT, values: [accountId] }),
      ]);
      return { connections, totalCount: counted.rows[0]?.count ?? 0 };
    },
    async sealedSecrets(accountId, id, keyVersion) {
      const statement = { ...SECRETS, values: [accountId, id, keyVersion] };
      const { rows } = await runStatement<{ sealed_secrets: Buffer | null }>(pool, statement);
      const sealed = rows[0]?.sealed_secrets;
      // Bytes of their own: the driver's are a view of the 64 KiB that came from the socket, which would stay with them.
      return sealed ? new Uint8Array(sealed) : undefined;
    },
    openSecrets(accountId, id, sealed) {
      const secrets: unknown = JSON.parse(sealer.open(sealed, secretsPlace(accountId, id)));
      return isJsonObject(secrets) ? secrets : {};
    },
    async recordVerification(accountId, id, keyVersion, status, reason) {
      const values = [accountId, id, keyVersion, status, reason ?? null];
      return (await runStatement(pool, { ...VERIFY, values })).rowCount === 1;
    },
    async requireAuthorization(accountId, id, keyVersion, { reason, wantedScope }) {
      const values = [accountId, id, keyVersion, reason, wantedScope ?? null];
      return (await runStatement(pool, { ...REQUIRE_AUTHORIZATION, values })).rowCount === 1;
    },
    async adoptTools(accountId, id, toolIds) {
      await runStatement(pool, { ...ADOPT, values: [accountId, id, toolIds] });
    },
  };
}
