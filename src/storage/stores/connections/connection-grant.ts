import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import type { UpstreamGrant, UpstreamGrantStore, Renewal } from "../../../integrations/oauth/grant.ts";
import { DomainError } from "../../../domain-error.ts";
import type { StatementRunner } from "../../pool/reads.ts";
import type { Sealer } from "../../sealing.ts";
import { errorCode } from "../../storage-error.ts";
import {
  boundTransaction,
  findConnectionGrant,
  lockConnectionGrant,
  loseConnectionGrant,
  renewConnectionGrant,
} from "../../statements/connection-grant.ts";
import { transaction } from "../../transaction.ts";
import { sealGrant, toGrant } from "./sealed-grant.ts";

/**
 * How long a replica waits for another replica's renewal, and how long a transaction may wait for the vendor, in
 * milliseconds.
 */
const LOCK_TIMEOUT = String(25_000);
/**
 * Pauses in milliseconds between attempts to store renewed tokens. The renewed tokens must be stored, because the
 * previous ones are no longer valid.
 */
const STORE_AGAIN_MS = [50, 200, 1_000, 3_000] as const;

/** PostgreSQL's code for a lock timeout. */
const LOCK_NOT_AVAILABLE = "55P03";

/**
 * The dependencies of the store. `pool` is separate, because a renewal's transaction lasts until the vendor responds.
 */
export interface GrantStoreDeps {
  /** Used for reads that wait for no lock. */
  readonly reads: StatementRunner;
  readonly pool: pg.Pool;
  readonly sealer: Sealer;
}

/** A renewal that succeeded at the vendor, and the grant that it renewed. */
interface Renewed {
  readonly before: UpstreamGrant;
  readonly renewal: Renewal;
}

/** Grants in PostgreSQL. A renewal locks the row from before the token request until the new tokens are committed. */
export function createUpstreamGrantStore({ reads, pool, sealer }: GrantStoreDeps): UpstreamGrantStore {
  async function select(
    find: typeof findConnectionGrant,
    runner: StatementRunner,
    accountId: string,
    connectionId: number,
  ) {
    const [row] = (await find(runner, { accountId, connectionId })).rows;
    return row && toGrant(sealer, accountId, row);
  }

  /** Undefined if the grant was replaced meanwhile. */
  async function write(
    runner: StatementRunner,
    accountId: string,
    { before, renewal }: Renewed,
  ): Promise<UpstreamGrant | undefined> {
    const { id, version } = before;
    const after = applied(before, renewal);
    const key = { accountId, id, version };
    const { rowCount } =
      renewal.kind === "lost"
        ? await loseConnectionGrant(runner, { ...key, reason: renewal.reason })
        : await renewConnectionGrant(runner, { ...key, sealedGrant: sealGrant(sealer, accountId, id, after) });
    return rowCount === 1 ? after : undefined;
  }

  /** The database connection failed during a renewal: the tokens that the vendor issued must still be stored. */
  async function writeAgain(
    accountId: string,
    connectionId: number,
    renewed: Renewed,
  ): Promise<UpstreamGrant | undefined> {
    for (const pauseMs of STORE_AGAIN_MS) {
      await sleep(pauseMs);
      try {
        const written = await write(pool, accountId, renewed);
        // No row was changed: either the failed transaction did commit, or another replica was faster.
        return written ?? (await select(findConnectionGrant, pool, accountId, connectionId));
      } catch {
        // Retried until the last pause has passed.
      }
    }
    return write(pool, accountId, renewed);
  }

  return {
    find: (accountId, connectionId) => select(findConnectionGrant, reads, accountId, connectionId),
    async renew(accountId, connectionId, version, renew) {
      let renewed: Renewed | undefined;
      try {
        return await transaction(pool, async (client) => {
          await boundTransaction(client, { milliseconds: LOCK_TIMEOUT });
          const before = await select(lockConnectionGrant, client, accountId, connectionId);
          if (before?.version !== version || before.lostReason !== undefined) return before;
          renewed = { before, renewal: await renew(before) };
          return await write(client, accountId, renewed);
        });
      } catch (error) {
        if (renewed === undefined) throw errorCode(error) === LOCK_NOT_AVAILABLE ? slow(error) : error;
        return await writeAgain(accountId, connectionId, renewed);
      }
    },
  };
}

function slow(cause: unknown): DomainError {
  const message = "The authorization is being renewed, and its server is slow to answer. Try again shortly.";
  return new DomainError("unavailable", message, { cause, retryAfterSeconds: 5 });
}

function applied(before: UpstreamGrant, renewal: Renewal): UpstreamGrant {
  const version = before.version + 1;
  return renewal.kind === "lost"
    ? { ...before, version, lostReason: renewal.reason }
    : { ...before, version, tokens: renewal.tokens };
}
