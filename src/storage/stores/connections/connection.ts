import type { ConnectionStore } from "../../../connections/connection-store.ts";
import { isJsonObject } from "../../../json.ts";
import { inTransaction } from "../../orm.ts";
import type { StatementResult, StatementRunner } from "../../pool/reads.ts";
import * as statements from "../../statements/connection.ts";
import { runnerOf } from "../run-statement.ts";
import { recordChange } from "../webhooks/record-change.ts";
import { secretsPlace, toConnection } from "./connection-row.ts";
import { createConnectionWrites, type ConnectionWriteDeps } from "./connection-write.ts";

/** The dependencies of the store. `reads` serves hot queries; without it the pool does. */
export interface ConnectionStoreDeps extends ConnectionWriteDeps {
  readonly reads?: StatementRunner;
}

/** Connections in PostgreSQL: prepared statements for hot queries, transactions for changes of several tables. */
export function createConnectionStore(deps: ConnectionStoreDeps): ConnectionStore {
  const { orm, pool, reads = pool, sealer, webhooks } = deps;

  /** Runs one statement, in a transaction with the event of its change if the account has webhooks. */
  async function changeStatus(
    accountId: string,
    id: number,
    change: (runner: StatementRunner) => Promise<StatementResult<object>>,
  ): Promise<boolean> {
    const { rowCount } =
      webhooks === undefined || webhooks.isQuiet(accountId)
        ? await change(pool)
        : await inTransaction(orm, (em) => recordChange(em, webhooks, { accountId, id }, () => change(runnerOf(em))));
    return rowCount === 1;
  }

  return {
    ...createConnectionWrites(deps),
    async find(accountId, id) {
      const [row] = (await statements.findConnection(reads, { accountId, id })).rows;
      return row && toConnection(accountId, row);
    },
    async list(accountId) {
      const { rows } = await statements.listConnections(reads, { accountId });
      return rows.map((row) => toConnection(accountId, row));
    },
    async listPage(accountId, limit, offset) {
      const [page, counted] = await Promise.all([
        statements.pageOfConnections(reads, { accountId, limit, offset }),
        statements.countConnections(pool, { accountId }),
      ]);
      const connections = page.rows.map((row) => toConnection(accountId, row));
      return { connections, totalCount: counted.rows[0]?.count ?? 0 };
    },
    async sealedSecrets(accountId, id, keyVersion) {
      const { rows } = await statements.findSealedSecrets(pool, { accountId, id, keyVersion });
      const sealed = rows[0]?.sealedSecrets;
      // A copy, because the driver returns a view that keeps the 64 KiB buffer of the socket in memory.
      return sealed ? new Uint8Array(sealed) : undefined;
    },
    openSecrets(accountId, id, sealed) {
      const secrets: unknown = JSON.parse(sealer.open(sealed, secretsPlace(accountId, id)));
      return isJsonObject(secrets) ? secrets : {};
    },
    async recordVerification(accountId, id, keyVersion, status, reason) {
      const key = { accountId, id, keyVersion };
      return changeStatus(accountId, id, (runner) => statements.recordVerification(runner, { ...key, status, reason }));
    },
    async requireAuthorization(accountId, id, keyVersion, { reason, wantedScope }) {
      const key = { accountId, id, keyVersion };
      const need = { ...key, reason, wantedScope };
      return changeStatus(accountId, id, (runner) => statements.requireAuthorization(runner, need));
    },
    async adoptTools(accountId, id, toolIds) {
      await statements.adoptTools(pool, { accountId, id, toolIds });
    },
  };
}
