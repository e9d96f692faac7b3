import { DomainError } from "../domain-error.ts";
import type { Principal } from "./principal.ts";
import { issuedAtMicros, type Micros, parseMicros } from "./token-id.ts";

/** What a revocation is about: one token, all of a client, all bound to a connection, all of an account, all of a grant. */
export const REVOCATION_KINDS = ["token", "client", "connection", "account", "grant"] as const;

/** One of them. */
export type RevocationKind = (typeof REVOCATION_KINDS)[number];

/** A rule that tokens are no longer honoured although their signatures hold. */
export interface Revocation {
  readonly kind: RevocationKind;
  /** The `jti`, client id, connection id in decimal, account id, or grant id. */
  readonly subject: string;
  /**
   * Tokens issued at or before this moment are refused; undefined refuses all, for good. A moment of an account is about
   * its access tokens alone: personal access tokens are no sessions, and are revoked one by one.
   */
  readonly before: Micros | undefined;
  /** Whether it takes the place of a broader one: the account that was disabled is in use again. */
  readonly isNarrowing?: boolean;
}

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
  const before =
    "issuedBefore" in row && typeof row.issuedBefore === "string" ? parseMicros(row.issuedBefore) : undefined;
  const isNarrowing = "isNarrowing" in row && row.isNarrowing === true && before !== undefined;
  return { kind, subject, before, isNarrowing };
}

type Bounds = Readonly<Record<RevocationKind, Map<string, Micros>>>;

function emptyBounds(): Bounds {
  return { token: new Map(), client: new Map(), connection: new Map(), account: new Map(), grant: new Map() };
}

function add(bounds: Bounds, { kind, subject, before, isNarrowing = false }: Revocation): void {
  const known = isNarrowing ? -Infinity : (bounds[kind].get(subject) ?? -Infinity);
  bounds[kind].set(subject, Math.max(known, before ?? Infinity));
}

function accountBound(bounds: Bounds, { accountId, clientId }: Principal): Micros {
  const bound = bounds.account.get(accountId) ?? -Infinity;
  return bound < Infinity && clientId.startsWith("pat_") ? -Infinity : bound;
}

function refuses(bounds: Bounds, principal: Principal): boolean {
  const bound = Math.max(
    bounds.token.get(principal.tokenId) ?? -Infinity,
    bounds.client.get(principal.clientId) ?? -Infinity,
    accountBound(bounds, principal),
    principal.grantId === undefined ? -Infinity : (bounds.grant.get(principal.grantId) ?? -Infinity),
    principal.connectionId === undefined
      ? -Infinity
      : (bounds.connection.get(String(principal.connectionId)) ?? -Infinity),
  );
  return bound > -Infinity && issuedAtMicros(principal.tokenId, principal.issuedAt) <= bound;
}

/**
 * Revocations in memory, fed by notifications.
 *
 * Every connection of the listener reloads all rows in force, because "newer than the last I saw" misses a row whose
 * transaction commits late. When notifications cannot be trusted the database is asked; when it does not answer either,
 * the request fails with `unavailable`, never with a pass.
 */
export function createRevocations(deps: {
  readonly store: RevocationStore;
  readonly listener: RevocationListener;
}): Revocations {
  let bounds = emptyBounds();
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
      const fresh = emptyBounds();
      for (const row of [...rows, ...arrivedWhileLoading]) add(fresh, row);
      bounds = fresh;
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
      const asked = emptyBounds();
      for (const row of await deps.store.listFor(principal)) add(asked, row);
      return refuses(asked, principal);
    } catch (cause) {
      throw new DomainError("unavailable", "The service cannot check tokens at the moment.", {
        cause,
        retryAfterSeconds: 1,
      });
    }
  }

  function apply(revocation: Revocation): void {
    add(bounds, revocation);
    arrivedWhileLoading.push(revocation);
  }

  return {
    add: apply,
    async start() {
      deps.listener.onReconnect(() => {
        isComplete = false;
        return load(true);
      });
      await deps.listener.listen(REVOCATION_CHANNEL, (payload) => {
        const revocation = parsePayload(payload);
        if (revocation === undefined) return;
        apply(revocation);
      });
      await load(deps.listener.isHealthy());
    },
    isRevoked(principal) {
      if (refuses(bounds, principal)) return true;
      return isComplete && deps.listener.isHealthy() ? false : askDatabase(principal);
    },
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}
