import { DomainError } from "../../domain-error.ts";
import type { CallRecord } from "./call-record.ts";
import type { WarnLog } from "../../log.ts";

/** Maximum number of records that one statement writes. */
const BATCH = 500;
/** The longest time that a record waits for its batch, in milliseconds. */
const FLUSH_AFTER_MS = 1_000;
/** Maximum number of waiting records. Limits the memory while the database is down; each takes about 200 bytes. */
const MAX_WAITING = 20_000;
/** How often `close` tries to write the remaining records. */
const CLOSING_ATTEMPTS = 3;

/** Writes the call history outside of requests. */
export interface CallHistory<Kept extends CallRecord = CallRecord> {
  /** Adds a record without waiting. Never throws. */
  record(record: Kept): void;
  /** Writes all waiting records, unless the database fails. */
  flush(): Promise<void>;
  /** Writes all waiting records and drops later ones. */
  close(): Promise<void>;
}

/** Collects records in memory and writes them in batches. The log reports how many records were dropped. */
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
    // The timer does not keep the process alive; `close` writes the remaining records.
    timer.unref();
  }

  /**
   * Writes `owed` records, then only full batches. Otherwise records that arrive during a write would cause many small
   * commits.
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
        // The database would reject this batch again, and retrying it would block all later records.
        else dropped += batch.length;
        log.warn({ err: error, waiting: waiting.length, dropped }, "could not write call history");
        dropped = 0;
        if (isTemporary) {
          schedule();
          return;
        }
      }
    }
    if (dropped > 0) log.warn({ dropped }, "dropped call records");
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
        log.warn({ dropped: waiting.length + dropped }, "dropped call records");
      }
    },
  };
}
