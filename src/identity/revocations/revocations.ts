import { DomainError } from "../../domain-error.ts";
import type { Principal } from "../principal.ts";
import { REVOCATION_KINDS, type Revocation } from "./revocation.ts";
import { createRevocationMemory } from "./revocation-memory.ts";
import { type Micros, parseMicros } from "../token-id.ts";

export interface RevocationStore {
  /** Returns all rows that have not expired. */
  listInForce(): Promise<readonly Revocation[]>;
  /** Returns the rows that may apply to one principal. Used while notifications are unreliable. */
  listFor(principal: Principal): Promise<readonly Revocation[]>;
}

export interface RevocationListener {
  listen(channel: string, hear: (payload: string) => void): Promise<void>;
  /** Calls `resume` on every connect. The listener is healthy only after that call succeeded. */
  onReconnect(resume: () => Promise<void>): void;
  /** Whether all messages arrive. */
  isHealthy(): boolean;
}

/** The current revocations as this replica knows them. */
export interface Revocations {
  /** Loads the current revocations and follows new ones. Throws if the database cannot be read. */
  start(): Promise<void>;
  /** Returns a promise only while notifications are unreliable. */
  isRevoked(principal: Principal): boolean | Promise<boolean>;
  /**
   * Applies a revocation that this replica committed before its notification arrives, so that its caller sees the
   * effect.
   */
  add(revocation: Revocation): void;
  close(): void;
}

/** Notified of every new row inside its transaction. */
export const REVOCATION_CHANNEL = "patchbay_revocation";

/** How often all rows are read again to remove expired ones. */
const RELOAD_MS = 600_000;

/** The retry interval while reading fails or notifications do not arrive. */
const RETRY_MS = 250;

function parsePayload(payload: string): Revocation | undefined {
  const row: unknown = JSON.parse(payload);
  if (typeof row !== "object" || row === null || !("kind" in row) || !("subject" in row)) return undefined;
  const { subject } = row;
  const kind = REVOCATION_KINDS.find((known) => known === row.kind);
  if (kind === undefined || typeof subject !== "string") return undefined;
  const texts = new Map<string, unknown>(Object.entries(row));
  const moment = (name: string): Micros | undefined => {
    const text = texts.get(name);
    if (text === "infinity") return Infinity;
    return typeof text === "string" ? parseMicros(text) : undefined;
  };
  const before = moment("issuedBefore");
  const isNarrowing = "isNarrowing" in row && row.isNarrowing === true && before !== undefined;
  return { kind, subject, before, isNarrowing, revokedAt: moment("revokedAt"), expiresAt: moment("expiresAt") };
}

/**
 * Keeps revocations in memory and follows notifications.
 *
 * Every connect of the listener reads all current rows, because a query for newer rows misses those whose transaction
 * commits late. Known revocations stay until they expire, since a promoted standby may lack them. While notifications
 * are unreliable, the database is queried; if it does not respond, requests fail with `unavailable`.
 */
export function createRevocations(deps: {
  readonly store: RevocationStore;
  readonly listener: RevocationListener;
  /** Called with the number of unexpired revocations that the database lost. */
  readonly onLost?: (count: number) => void;
}): Revocations {
  const memory = createRevocationMemory();
  let isComplete = false;
  let arrivedWhileLoading: Revocation[] = [];
  let newestLoad = 0;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  /** A load is complete only if notifications arrived when it started, so that later rows arrive by notification. */
  async function load(isListening: boolean): Promise<void> {
    const mine = ++newestLoad;
    arrivedWhileLoading = [];
    try {
      const rows = await deps.store.listInForce();
      if (mine !== newestLoad) return;
      const lost = memory.merge(rows, arrivedWhileLoading);
      if (lost > 0) deps.onLost?.(lost);
      isComplete = isListening;
    } finally {
      if (mine === newestLoad) loadAgainIn(isComplete ? RELOAD_MS : RETRY_MS);
    }
  }

  function loadInBackground(): void {
    // A failed load has already scheduled its retry.
    load(deps.listener.isHealthy()).catch(() => undefined);
  }

  function loadAgainIn(delayMs: number): void {
    clearTimeout(timer);
    if (isClosed) return;
    timer = setTimeout(loadInBackground, delayMs).unref();
  }

  async function askDatabase(principal: Principal): Promise<boolean> {
    try {
      const asked = createRevocationMemory();
      for (const row of await deps.store.listFor(principal)) asked.add(row);
      return asked.refuses(principal);
    } catch (cause) {
      throw new DomainError("unavailable", "The service cannot check tokens at the moment.", {
        cause,
        retryAfterSeconds: 1,
      });
    }
  }

  function add(revocation: Revocation): void {
    memory.add(revocation);
    arrivedWhileLoading.push(revocation);
  }

  return {
    add,
    async start() {
      deps.listener.onReconnect(() => {
        isComplete = false;
        return load(true);
      });
      await deps.listener.listen(REVOCATION_CHANNEL, (payload) => {
        const revocation = parsePayload(payload);
        if (revocation !== undefined) add(revocation);
      });
      await load(deps.listener.isHealthy());
    },
    isRevoked(principal) {
      if (memory.refuses(principal)) return true;
      return isComplete && deps.listener.isHealthy() ? false : askDatabase(principal);
    },
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}
