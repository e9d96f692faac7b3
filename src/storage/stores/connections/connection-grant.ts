import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import type { UpstreamGrant, UpstreamGrantStore, Renewal } from "../../../integrations/oauth/grant.ts";
import { DomainError } from "../../../domain-error.ts";
import type { StatementRunner } from "../../reads.ts";
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

/** How long a replica waits for another one to renew a grant, and a transaction for the third party, in milliseconds. */
const LOCK_TIMEOUT = String(25_000);
/** Pauses between attempts to store renewed tokens: nobody else has them, and the ones before are spent. In milliseconds. */
const STORE_AGAIN_MS = [50, 200, 1_000, 3_000] as const;

/** PostgreSQL's code for a lock that was not had in time. */
const LOCK_NOT_AVAILABLE = "55P03";

/** What the store needs. `pool` is its own: a transaction lasts as long as a third party takes to answer. */
export interface GrantStoreDeps {
  /** Serves what is found without waiting. */
  readonly reads: StatementRunner;
  readonly pool: pg.Pool;
  readonly sealer: Sealer;
}

/** A renewal that has happened at the third party, and the grant it is of. */
interface Renewed {
  readonly before: UpstreamGrant;
  readonly renewal: Renewal;
}

/** Grants in PostgreSQL. A renewal holds the row's lock from before the third party is asked until the answer is committed. */
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

  /** Undefined when the grant is another one by now. */
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

  /** The connection to the database broke under a renewal: what the third party gave must not be lost with it. */
  async function writeAgain(
    accountId: string,
    connectionId: number,
    renewed: Renewed,
  ): Promise<UpstreamGrant | undefined> {
    for (const pauseMs of STORE_AGAIN_MS) {
      await sleep(pauseMs);
      try {
        const written = await write(pool, accountId, renewed);
        // None: the broken transaction did commit, or somebody else was faster.
        return written ?? (await select(findConnectionGrant, pool, accountId, connectionId));
      } catch {
        // Tried again until the last pause is over.
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
