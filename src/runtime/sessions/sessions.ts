import { LRUCache } from "lru-cache";
import { atMost } from "../../at-most.ts";
import type { Principal } from "../../identity/principal.ts";
import type { JsonObject } from "../../json.ts";
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
  type McpSession,
} from "./session.ts";
import type { SessionClaim, SessionStore, SessionChange } from "./session-store.ts";

/** From this age on, using a session also reads it again in the background, in milliseconds. */
const REREAD_AFTER_MS = 500;
/**
 * Age from which a cached copy is not used, in milliseconds: a session that ends on another replica stops working
 * within a second.
 */
const STALE_AFTER_MS = 900;
/** Maximum weight of all cached sessions. Each stored name weighs 1, about 40 bytes. */
const MAX_WEIGHT = 500_000;
/** Weight of a session without names. */
const SESSION_WEIGHT = 20;
const MAX_INVALIDATED = 10_000;
/** Maximum number of sessions that one statement ends. */
const SWEEP_BATCH = 500;

/** Sessions of all principals, cached for up to a second. */
export interface Sessions {
  /** Throws `exhausted` when the account is at its limit and all its sessions belong to other clients. */
  open(
    principal: Principal,
    protocolVersion: string,
    clientInfo: Peer,
    clientCapabilities?: JsonObject,
  ): Promise<McpSession>;
  /**
   * Returns the principal's session. Throws `invalid` without an id and `not_found` for an unknown, ended or foreign
   * session.
   */
  require(principal: Principal, id: string | null | undefined): McpSession | Promise<McpSession>;
  /**
   * Stores a claim. Returns undefined when the connection was deleted. Throws `not_found` when the session has ended.
   */
  claim(session: McpSession, claim: SessionClaim): Promise<McpSession | undefined>;
  /** Stores settings of the client. Throws `not_found` when the session has ended. */
  update(session: McpSession, change: SessionChange): Promise<McpSession>;
  /** Returns those sessions that have not ended, by id, as stored now. All of them count as used. */
  findAll(sessions: readonly McpSession[]): Promise<ReadonlyMap<string, McpSession>>;
  /** Ends the principal's session. Throws like `require`. */
  end(principal: Principal, id: string | null | undefined): Promise<void>;
  /** Drops the cached sessions of an account, because some of them may have ended. */
  invalidateAccount(accountId: string): void;
  /** Ends all idle sessions in batches. Returns how many. */
  endIdle(): Promise<number>;
}

interface Entry {
  readonly session: McpSession;
  /** When the read of this copy began, in monotonic milliseconds. */
  readonly readAt: number;
  /** When the last use was last stored, in monotonic milliseconds. */
  usedAt: number;
  rereading: boolean;
}

/** Returns no promise for a session that was read within the last second. */
export function createSessions(deps: { store: SessionStore; idleSeconds: number; log: WarnLog }): Sessions {
  const { store, idleSeconds, log } = deps;
  const touchAfterMs = touchIntervalMs(idleSeconds);
  const entries = new LRUCache<string, Entry>({
    maxSize: MAX_WEIGHT,
    sizeCalculation: ({ session }) => SESSION_WEIGHT + session.bareNameOwners.size + session.aliasOwners.size,
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

  function remember(session: McpSession): void {
    const now = performance.now();
    entries.set(session.id, { session, readAt: now, usedAt: now, rereading: false });
  }

  /** Returns the cached session unless it is stale. */
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
      log.warn({ err: error }, "could not store the last use of a session");
    });
  }

  function use(entry: Entry, principal: Principal, now: number): McpSession {
    const { session } = entry;
    if (!belongsTo(session, principal)) throw new SessionNotFound();
    noteUse(entry, now);
    if (now - entry.readAt > REREAD_AFTER_MS && !entry.rereading) {
      entry.rereading = true;
      read(session.accountId, session.id, entry).catch((error: unknown) => {
        // Calls use the cached session until it is stale; after that, they fail if the next read fails.
        entry.rereading = false;
        log.warn({ err: error }, "could not refresh a session");
      });
    }
    return session;
  }

  async function readAndUse(principal: Principal, id: string): Promise<McpSession> {
    const entry = await read(principal.accountId, id, entries.get(id));
    if (entry === undefined) throw new SessionNotFound();
    return use(entry, principal, performance.now());
  }

  function require(principal: Principal, header: string | null | undefined): McpSession | Promise<McpSession> {
    const id = parseSessionId(header);
    const now = performance.now();
    const entry = fresh(principal.accountId, id, now);
    return entry === undefined ? readAndUse(principal, id) : use(entry, principal, now);
  }

  return {
    require,

    async open(principal, protocolVersion, clientInfo, clientCapabilities = {}) {
      const { accountId, memberId, clientId, connectionId, grantId } = principal;
      const id = createSessionId();
      const wanted = {
        accountId,
        id,
        memberId,
        clientId,
        connectionId,
        grantId,
        protocolVersion,
        clientInfo,
        clientCapabilities,
      };
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
        const known = entries.peek(session.id);
        if (known !== undefined && known.readAt > readAt) continue;
        const usedAt = known?.usedAt ?? readAt - touchAfterMs;
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
      // Discards the result of a read that began before the session ended.
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
