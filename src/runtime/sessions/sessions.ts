import { LRUCache } from "lru-cache";
import { atMost } from "../../at-most.ts";
import type { Principal } from "../../identity/principal.ts";
import { DomainError } from "../../domain-error.ts";
import type { WarnLog } from "../../log.ts";
import {
  belongsTo,
  createSessionId,
  MAX_SESSIONS_PER_ACCOUNT,
  parseSessionId,
  SessionNotFound,
  touchIntervalMs,
  type Peer,
  type Session,
} from "./session.ts";
import type { SessionClaim, SessionStore, SessionChange } from "./session-store.ts";

/** From this age a session is read again behind the back of the call that uses it, in milliseconds. */
const REREAD_AFTER_MS = 500;
/** No call is served by what was read longer ago than this, in milliseconds: an end elsewhere is seen within a second. */
const STALE_AFTER_MS = 900;
/** What the sessions in memory may weigh together, in names they remember; a name takes some 40 bytes. */
const MAX_WEIGHT = 500_000;
/** What a session weighs beside its names. */
const SESSION_WEIGHT = 20;
/** Accounts whose sessions were forgotten lately. */
const MAX_INVALIDATED = 10_000;
/** Sessions ended by one statement of the sweep. */
const SWEEP_BATCH = 500;

/** The sessions of every principal: at rest for all replicas, in memory for the next second. */
export interface Sessions {
  /** Opens a session for the principal. Throws `exhausted` when other clients of the account have as many open as it may have. */
  open(principal: Principal, protocolVersion: string, clientInfo: Peer): Promise<Session>;
  /** The principal's session. Throws `invalid` without an id and `not_found` for one that is unknown, ended or foreign. */
  require(principal: Principal, id: string | null | undefined): Session | Promise<Session>;
  /** Makes the session remember, durably. Undefined when the connection to be called is gone; throws `not_found` when the session is. */
  claim(session: Session, claim: SessionClaim): Promise<Session | undefined>;
  /** Has the session remember what its client asked for. Throws `not_found` when the session has ended. */
  update(session: Session, change: SessionChange): Promise<Session>;
  /** Those of many sessions that have not ended, by id, as they are now; all of them count as used. */
  findAll(sessions: readonly Session[]): Promise<ReadonlyMap<string, Session>>;
  /** Ends the principal's session. Throws like `require`. */
  end(principal: Principal, id: string | null | undefined): Promise<void>;
  /** Forgets what is in memory of an account's sessions: some of them may just have been ended. */
  invalidateAccount(accountId: string): void;
  /** Ends all idle sessions, in batches; answers how many. */
  endIdle(): Promise<number>;
}

interface Entry {
  readonly session: Session;
  /** When the read began that yielded it, monotonic milliseconds. */
  readonly readAt: number;
  /** When its last use was last written, monotonic milliseconds. */
  usedAt: number;
  rereading: boolean;
}

/** Sessions over a store. Answers without a promise whenever the session was read within the last second. */
export function createSessions(deps: { store: SessionStore; idleSeconds: number; log: WarnLog }): Sessions {
  const { store, idleSeconds, log } = deps;
  const touchAfterMs = touchIntervalMs(idleSeconds);
  const entries = new LRUCache<string, Entry>({
    maxSize: MAX_WEIGHT,
    sizeCalculation: ({ session }) => SESSION_WEIGHT + session.bareNameOwners.size,
  });
  const invalidatedAt = new LRUCache<string, number>(atMost(MAX_INVALIDATED));

  async function read(accountId: string, id: string, known: Entry | undefined): Promise<Entry | undefined> {
    const readAt = performance.now();
    const found = await store.find(accountId, id, idleSeconds, known?.session);
    if (found === undefined) {
      entries.delete(id);
      return undefined;
    }
    const usedAt = Math.max(known?.usedAt ?? 0, performance.now() - found.idleMs);
    const entry = { session: found.session, readAt, usedAt, rereading: false };
    entries.set(id, entry);
    return entry;
  }

  /** Keeps what a write just answered. */
  function remember(session: Session): void {
    const now = performance.now();
    entries.set(session.id, { session, readAt: now, usedAt: now, rereading: false });
  }

  /** The entry as good as read now, or undefined when only the database can tell. */
  function fresh(accountId: string, id: string, now: number): Entry | undefined {
    const entry = entries.get(id);
    if (entry === undefined || now - entry.readAt > STALE_AFTER_MS) return undefined;
    return entry.readAt > (invalidatedAt.get(accountId) ?? 0) ? entry : undefined;
  }

  function noteUse(entry: Entry, now: number): void {
    if (now - entry.usedAt <= touchAfterMs) return;
    entry.usedAt = now;
    const { accountId, id } = entry.session;
    store.touch(accountId, id).catch((error: unknown) => {
      log.warn({ err: error }, "could not note the use of a session");
    });
  }

  function use(entry: Entry, principal: Principal, now: number): Session {
    const { session } = entry;
    if (!belongsTo(session, principal)) throw new SessionNotFound();
    noteUse(entry, now);
    if (now - entry.readAt > REREAD_AFTER_MS && !entry.rereading) {
      entry.rereading = true;
      read(session.accountId, session.id, entry).catch((error: unknown) => {
        // The calls go on until the entry is stale; then they meet the same failure.
        entry.rereading = false;
        log.warn({ err: error }, "could not read a session again");
      });
    }
    return session;
  }

  async function readAndUse(principal: Principal, id: string): Promise<Session> {
    const entry = await read(principal.accountId, id, entries.get(id));
    if (entry === undefined) throw new SessionNotFound();
    return use(entry, principal, performance.now());
  }

  function require(principal: Principal, header: string | null | undefined): Session | Promise<Session> {
    const id = parseSessionId(header);
    const now = performance.now();
    const entry = fresh(principal.accountId, id, now);
    return entry === undefined ? readAndUse(principal, id) : use(entry, principal, now);
  }

  return {
    require,

    async open(principal, protocolVersion, clientInfo) {
      const { accountId, clientId, connectionId, grantId } = principal;
      const id = createSessionId();
      const wanted = { accountId, id, clientId, connectionId, grantId, protocolVersion, clientInfo };
      const session = await store.open(wanted, MAX_SESSIONS_PER_ACCOUNT, idleSeconds);
      if (session === "full") {
        throw new DomainError(
          "exhausted",
          `The account has ${MAX_SESSIONS_PER_ACCOUNT} sessions open, which is the limit, and all of them belong to other clients. ` +
            "End a session that is no longer needed, then open another.",
        );
      }
      if (session === undefined) throw new DomainError("unauthenticated", "Invalid or expired token.");
      remember(session);
      return session;
    },

    async claim(session, claim) {
      const claimed = await store.claim(session.accountId, session.id, claim);
      if (claimed === undefined) {
        const entry = await read(session.accountId, session.id, undefined);
        if (entry === undefined) throw new SessionNotFound();
        return undefined;
      }
      remember(claimed);
      return claimed;
    },

    async update(session, change) {
      const kept = await store.update(session.accountId, session.id, change);
      if (kept === undefined) {
        entries.delete(session.id);
        throw new SessionNotFound();
      }
      remember(kept);
      return kept;
    },

    async findAll(sessions) {
      const readAt = performance.now();
      const present = await store.findAll(sessions);
      for (const session of present.values()) {
        const usedAt = entries.peek(session.id)?.usedAt ?? readAt - touchAfterMs;
        const entry = { session, readAt, usedAt, rereading: false };
        noteUse(entry, readAt);
        entries.set(session.id, entry);
      }
      for (const { id } of sessions) if (!present.has(id)) entries.delete(id);
      return present;
    },

    async end(principal, header) {
      const session = await require(principal, header);
      entries.delete(session.id);
      const isEnded = await store.end(session.accountId, session.id);
      // What a read that began before brings in meanwhile counts no more.
      invalidatedAt.set(session.accountId, performance.now());
      if (!isEnded) throw new SessionNotFound();
    },

    invalidateAccount(accountId) {
      invalidatedAt.set(accountId, performance.now());
    },

    async endIdle() {
      let ended = 0;
      for (;;) {
        const batch = await store.endIdle(idleSeconds, SWEEP_BATCH);
        ended += batch;
        if (batch < SWEEP_BATCH) return ended;
      }
    },
  };
}
