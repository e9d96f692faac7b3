import pg from "pg";
import { BatchingSocket } from "./batching-socket.ts";
import { BoundedClient } from "./bounded-client.ts";
import { DescribedQuery, type KnownColumns } from "./described-query.ts";
import { ignoreError } from "../ignore-error.ts";
import { isSilence } from "../storage-error.ts";

/** What a statement returned, and how many rows it changed. */
export type StatementResult<Row extends pg.QueryResultRow> = Pick<pg.QueryResult<Row>, "rows" | "rowCount">;

/** Runs one statement: on the pool, on a client of the pool, or on the reads. */
export interface StatementRunner {
  query<Row extends pg.QueryResultRow>(statement: pg.QueryConfig): Promise<StatementResult<Row>>;
}

/**
 * Runs short reads by key without locks over a few shared connections. Queries are sent without waiting for earlier
 * responses, which saves most system calls. A slow statement would delay those after it, so slow reads, writes and
 * transactions belong in the pool.
 */
export interface Reads extends StatementRunner {
  /** Closes idle connections; the next query opens a new one. */
  dropIdle(): void;
  close(): Promise<void>;
}

/** Options of the connections. */
export interface ReadsOptions {
  readonly connections: number;
  /** Whether to use named prepared statements. */
  readonly keepsStatements: boolean;
  /** Called when a query got no response in time. */
  readonly onSilence: () => void;
}

interface Opened {
  readonly client: BoundedClient;
  readonly known: KnownColumns;
}

interface Slot {
  opened: Promise<Opened> | undefined;
  /** Queries that have no response yet. */
  pending: number;
}

/** Opens each connection on first use and again after it breaks. Queries on a broken connection fail. */
export function createReads(config: pg.ClientConfig, options: ReadsOptions): Reads {
  const { keepsStatements, onSilence } = options;
  const { types = pg.types } = config;
  const parserOf = (typeId: number): ((text: string) => unknown) =>
    // eslint-disable-next-line @typescript-eslint/no-unsafe-return, @typescript-eslint/no-unsafe-enum-assignment -- the driver's types name the ids of built-in types alone, and say nothing of its parsers.
    types.getTypeParser(typeId);
  const slots: Slot[] = Array.from({ length: options.connections }, () => ({ opened: undefined, pending: 0 }));
  let isClosed = false;

  function open(slot: Slot): Promise<Opened> {
    const client = new BoundedClient({ ...config, pipeline: true, stream: () => new BatchingSocket() });
    const opened = client.connect().then(() => ({ client, known: { parserOf, byStatement: new Map() } }));
    const forget = (): void => {
      if (slot.opened === opened) slot.opened = undefined;
    };
    // Pending queries fail by themselves.
    client.on("error", ignoreError);
    client.once("end", forget);
    opened.catch(forget);
    return opened;
  }

  function leastBusy(): Slot {
    return slots.reduce((least, slot) => (slot.pending < least.pending ? slot : least));
  }

  return {
    async query<Row extends pg.QueryResultRow>(statement: pg.QueryConfig): Promise<StatementResult<Row>> {
      if (isClosed) throw new Error("the database is closed");
      const slot = leastBusy();
      slot.pending += 1;
      const opened = (slot.opened ??= open(slot));
      try {
        return await ask<Row>(await opened, keepsStatements ? statement : { ...statement, name: undefined });
      } catch (error) {
        if (isSilence(error)) {
          // The driver is closing the connection, so it gets no further query.
          if (slot.opened === opened) slot.opened = undefined;
          onSilence();
        }
        throw error;
      } finally {
        slot.pending -= 1;
      }
    },
    dropIdle() {
      for (const slot of slots) {
        if (slot.pending > 0) continue;
        void slot.opened?.then(({ client }) => client.destroy(), ignoreError);
        slot.opened = undefined;
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
): Promise<StatementResult<Row>> {
  return new Promise((resolve, reject) => {
    client.query(
      new DescribedQuery(statement, known, (error, rows) => {
        if (rows === undefined) reject(error ?? new Error("a query returned neither rows nor an error"));
        // eslint-disable-next-line @typescript-eslint/no-unsafe-type-assertion -- the caller knows the statement's columns.
        else resolve({ rows: rows as Row[], rowCount: rows.length });
      }),
    );
  });
}
