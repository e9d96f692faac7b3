import { DomainError } from "../../domain-error.ts";
import type { CallRecord } from "./call-record.ts";
import type { WarnLog } from "../../log.ts";

/** Records written by one statement. */
const BATCH = 500;
/** The longest time a record waits for others to be written with, in milliseconds. */
const FLUSH_AFTER_MS = 1_000;
/** Records that wait at most, about 200 bytes each; a database that is down must not fill the memory. */
const MAX_WAITING = 20_000;
/** How often `close` tries to write what is left. */
const CLOSING_ATTEMPTS = 3;

/** The history of calls, written off the request path. */
export interface CallHistory<Kept extends CallRecord = CallRecord> {
  /** Takes a record; never waits and never throws. */
  record(record: Kept): void;
  /** Writes everything that waits, as far as the database allows. */
  flush(): Promise<void>;
  /** Writes what waits and stops taking records. */
  close(): Promise<void>;
}

/** A history that gathers records in memory and writes them in batches. What it had to drop is counted in the log. */
export function createCallHistory<Kept extends CallRecord = CallRecord>(deps: {
  store: { append(records: readonly Kept[]): Promise<void> };
  log: WarnLog;
  maxWaiting?: number;
}): CallHistory<Kept> {
  const { store, log } = deps;
  const maxWaiting = deps.maxWaiting ?? MAX_WAITING;
  let waiting: Kept[] = [];
  let dropped = 0;
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> | undefined;
  let isClosed = false;

  function schedule(): void {
    if (timer !== undefined || isClosed) return;
    timer = setTimeout(() => {
      timer = undefined;
      if (writing === undefined) void write(waiting.length);
      else schedule();
    }, FLUSH_AFTER_MS);
    // Records alone do not keep a process alive; `close` writes them.
    timer.unref();
  }

  /**
   * Writes as many records as are owed, and then whole batches alone: what comes while one is written would else be many
   * small ones, each with a commit of its own.
   */
  async function writeBatches(owed: number): Promise<void> {
    for (let left = owed; left > 0 || waiting.length >= BATCH; left -= BATCH) {
      const batch = waiting.slice(0, BATCH);
      waiting = waiting.slice(BATCH);
      try {
        await store.append(batch);
      } catch (error) {
        const isTemporary = error instanceof DomainError && (error.kind === "unavailable" || error.kind === "conflict");
        if (isTemporary) waiting = [...batch, ...waiting];
        // What the database refuses today it refuses tomorrow; kept, it would block everything behind it.
        else dropped += batch.length;
        log.warn({ err: error, waiting: waiting.length, dropped }, "the history of calls could not be written");
        dropped = 0;
        if (isTemporary) {
          schedule();
          return;
        }
      }
    }
    if (dropped > 0) log.warn({ dropped }, "records of calls were lost");
    dropped = 0;
  }

  function write(owed: number): Promise<void> {
    writing = writeBatches(owed).finally(() => {
      writing = undefined;
    });
    return writing;
  }

  async function flush(): Promise<void> {
    while (writing !== undefined) await writing;
    if (waiting.length > 0) await write(waiting.length);
  }

  return {
    record(record) {
      if (isClosed || waiting.length >= maxWaiting) {
        dropped += 1;
        return;
      }
      waiting.push(record);
      if (waiting.length === BATCH && writing === undefined) void write(0);
      else schedule();
    },

    flush,

    async close() {
      clearTimeout(timer);
      isClosed = true;
      for (let attempt = 0; attempt < CLOSING_ATTEMPTS && waiting.length > 0; attempt += 1) await flush();
      await writing;
      if (waiting.length + dropped > 0) {
        log.warn({ dropped: waiting.length + dropped }, "records of calls were lost");
      }
    },
  };
}
