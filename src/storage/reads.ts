import pg from "pg";
import { BatchingSocket } from "./batching-socket.ts";
import { createKnownColumns, DescribedQuery, type KnownColumns } from "./described-query.ts";
import { ignoreError } from "./ignore-error.ts";

/** Whatever runs one statement: the pool, a client of it, or the reads. */
export interface StatementRunner {
  query<Row extends pg.QueryResultRow>(statement: pg.QueryConfig): Promise<pg.QueryResult<Row>>;
}

/**
 * Short reads by key that wait for no lock, over a few connections that many share: each sends its queries without
 * waiting for the answers to those before, which spares most of the system calls. A slow statement would hold up those
 * behind it, so it belongs into the pool, as do writes and transactions.
 */
export interface Reads extends StatementRunner {
  close(): Promise<void>;
}

interface Opened {
  readonly client: pg.Client;
  readonly known: KnownColumns;
}

interface Slot {
  opened: Promise<Opened> | undefined;
  /** Queries without an answer yet. */
  pending: number;
}

/** Opens each connection when it is first needed, and again after it broke; the queries on a broken one fail. */
export function createReads(config: pg.ClientConfig, connections: number): Reads {
  const slots: Slot[] = Array.from({ length: connections }, () => ({ opened: undefined, pending: 0 }));
  let isClosed = false;

  async function connect(slot: Slot): Promise<Opened> {
    const client = new pg.Client({ ...config, pipeline: true, stream: () => new BatchingSocket() });
    const forget = (): void => {
      slot.opened = undefined;
    };
    // What was in flight fails by itself.
    client.on("error", ignoreError);
    client.once("end", forget);
    try {
      await client.connect();
      return { client, known: createKnownColumns() };
    } catch (error) {
      forget();
      throw error;
    }
  }

  function leastBusy(): Slot {
    return slots.reduce((least, slot) => (slot.pending < least.pending ? slot : least));
  }

  return {
    async query<Row extends pg.QueryResultRow>(statement: pg.QueryConfig): Promise<pg.QueryResult<Row>> {
      if (isClosed) throw new Error("the database is closed");
      const slot = leastBusy();
      slot.pending += 1;
      try {
        slot.opened ??= connect(slot);
        return await ask<Row>(await slot.opened, statement);
      } finally {
        slot.pending -= 1;
      }
    },
    async close() {
      isClosed = true;
      const open = slots.flatMap(({ opened }) => opened ?? []);
      await Promise.all(open.map((opening) => opening.then(({ client }) => client.end(), ignoreError)));
    },
  };
}

function ask<Row extends pg.QueryResultRow>(
  { client, known }: Opened,
  statement: pg.QueryConfig,
): Promise<pg.QueryResult<Row>> {
  return new Promise((resolve, reject) => {
    client.query(
      new DescribedQuery<Row>(statement, known, (error, result) => {
        // The driver says null where its types say undefined.
        if (error instanceof Error) reject(error);
        else resolve(result);
      }),
    );
  });
}
