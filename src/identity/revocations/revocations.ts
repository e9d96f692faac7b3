import { DomainError } from "../../domain-error.ts";
import type { Principal } from "../principal.ts";
import { REVOCATION_KINDS, type Revocation } from "./revocation.ts";
import { createRevocationMemory } from "./revocation-memory.ts";
import { type Micros, parseMicros } from "../token-id.ts";

/** Where revocations are kept. */
export interface RevocationStore {
  /** Every row that has not expired. */
  listInForce(): Promise<readonly Revocation[]>;
  /** Those that could touch one principal, for when the notifications cannot be trusted. */
  listFor(principal: Principal): Promise<readonly Revocation[]>;
}

/** The part of a database listener that revocation needs. */
export interface RevocationListener {
  listen(channel: string, hear: (payload: string) => void): Promise<void>;
  /** Calls `resume` on every connect, when messages arrive again, and is healthy only once it has succeeded. */
  onReconnect(resume: () => Promise<void>): void;
  /** Whether messages can be relied on to have arrived. */
  isHealthy(): boolean;
}

/** The revocations in force, as this replica knows them. */
export interface Revocations {
  /** Reads what is in force and follows what is added; fails when the database cannot be read. */
  start(): Promise<void>;
  /** Whether the principal's token is revoked; a promise only while notifications cannot be trusted. */
  isRevoked(principal: Principal): boolean | Promise<boolean>;
  /** Applies what this replica has just committed, ahead of its notification, so that who revoked meets it at once. */
  add(revocation: Revocation): void;
  close(): void;
}

/** The channel on which every new row is announced inside its transaction. */
export const REVOCATION_CHANNEL = "patchbay_revocation";

/** How often all rows are read again, to forget those that have expired. */
const RELOAD_MS = 600_000;

/** How soon reading is tried again while it fails, or while notifications are not yet arriving. */
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
 * Revocations in memory, fed by notifications.
 *
 * Every connection of the listener reads all rows in force again, because "newer than the last I saw" misses a row whose
 * transaction commits late. What memory holds stays until it expires, whatever the database says: a promoted standby may
 * lack it. When notifications cannot be trusted the database is asked; when it does not answer either,
 * the request fails with `unavailable`, never with a pass.
 */
export function createRevocations(deps: {
  readonly store: RevocationStore;
  readonly listener: RevocationListener;
  /** Called when a reading lacks unexpired revocations that this replica knows, with their count. */
  readonly onLost?: (count: number) => void;
}): Revocations {
  const memory = createRevocationMemory();
  let isComplete = false;
  let arrivedWhileLoading: Revocation[] = [];
  let newestLoad = 0;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  /** A reading is complete only if notifications were arriving when it began: what is added later then comes by itself. */
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
    // A failure has already set the time of the next try.
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
