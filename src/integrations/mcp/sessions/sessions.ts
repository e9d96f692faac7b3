import { LRUCache } from "lru-cache";
import type { JsonObject } from "../../../json.ts";
import { orAborted } from "../../or-aborted.ts";
import { canBeAsked, type ClientIdentity, type RelayedClient } from "../../relayed-client.ts";
import type { Target } from "../../target.ts";
import { endpointFor, fingerprint } from "../http/endpoint.ts";
import type { GrantedTokens } from "../../oauth/granted-tokens.ts";
import { openSession } from "./open-session.ts";
import type { Requester } from "./request.ts";
import type { UpstreamSession } from "./session.ts";
import { UpstreamFailure } from "../failures/upstream-failure.ts";

const SWEEP_MS = 60_000;

/** Milliseconds that shutdown waits for upstreams. */
const CLOSE_TIMEOUT_MS = 1_000;
const MAX_SESSIONS = 10_000;

export interface SessionUse {
  /** Whether the work may be repeated after a broken connection, when it may have been executed. */
  readonly repeatable: boolean;
  /** Set for a stream without end, which does not keep the session from expiring. */
  readonly isPassive?: boolean;
  /**
   * The client of the call. A client that can answer requests gets separate upstream sessions, if the server has
   * sessions.
   */
  readonly client?: ClientIdentity | RelayedClient | undefined;
  readonly signal: AbortSignal;
}

/**
 * One upstream session per connection, shared by the calls of clients that cannot answer requests. Other clients have
 * separate sessions.
 */
export interface UpstreamSessions {
  /**
   * Runs work in the connection's session and opens it when needed; concurrent calls share the opening. When the
   * upstream has lost the session, opens a new one and repeats the work, which was not executed.
   */
  use<Result>(target: Target, how: SessionUse, work: (session: UpstreamSession) => Promise<Result>): Promise<Result>;
  /** Whether work runs in the connection's session. */
  isInUse(connectionId: number): boolean;
  forget(connectionId: number): void;
  close(): void;
}

export interface UpstreamSessionOptions {
  readonly tokens?: GrantedTokens | undefined;
  /** Milliseconds. */
  readonly openTimeoutMs: number;
  /** Milliseconds that a session stays open unused. */
  readonly idleMs: number;
}

interface Entry {
  readonly connectionId: number;
  readonly keyVersion: number;
  readonly fingerprint: string;
  /** The last configuration object; the same object needs no comparison. */
  configuration: JsonObject;
  readonly opened: Promise<UpstreamSession>;
  session: UpstreamSession | undefined;
  /** The upstream has closed it. */
  lost: boolean;
  /** The connection is gone: nothing may be sent for it. */
  forgotten: boolean;
  /**
   * The number of running uses, without passive ones. A session that was replaced or has expired is closed after the
   * last use.
   */
  uses: number;
  isReplaced: boolean;
}

/** Sessions hold secrets in memory until they expire. */
export function createUpstreamSessions(requester: Requester, options: UpstreamSessionOptions): UpstreamSessions {
  let isClosing = false;
  const entries = new LRUCache<string, Entry>({
    max: MAX_SESSIONS,
    ttl: options.idleMs,
    updateAgeOnGet: true,
    dispose: (entry) => {
      entry.isReplaced = true;
      if (entry.uses === 0 || entry.forgotten || isClosing) closeSession(entry);
    },
  });
  const sweep = setInterval(
    () => {
      // Calls may take longer than the idle time of a session. The iteration uses a copy, because `get` changes the
      // order.
      for (const [key, { uses }] of [...entries.entries()]) if (uses > 0) entries.get(key);
      entries.purgeStale();
    },
    Math.min(SWEEP_MS, options.idleMs / 2),
  ).unref();

  const closeSession = (entry: Entry): void => {
    if (entry.lost) return;
    const timeoutMs = isClosing ? CLOSE_TIMEOUT_MS : undefined;
    entry.opened.then(
      (session) => requester.close(session, timeoutMs),
      () => undefined,
    );
  };

  const drop = (key: string, entry: Entry): void => {
    entry.lost = true;
    entry.session?.closing.abort();
    if (entries.peek(key) === entry) entries.delete(key);
  };

  const keyFor = ({ connectionId }: Target, client: ClientIdentity | undefined): string => {
    const shared = String(connectionId);
    if (client === undefined || !canBeAsked(client)) return shared;
    // Without sessions every request carries its client's capabilities.
    if (entries.peek(shared)?.session?.revision === "modern") return shared;
    return `${shared} ${client.audience}`;
  };

  const acquire = (key: string, target: Target, client: ClientIdentity | undefined): Entry => {
    const { connectionId, keyVersion, configuration } = target;
    const cached = entries.get(key);
    // The server may have closed the stream that the session consists of.
    const known = cached?.session?.closing.signal.aborted === true ? undefined : cached;
    if (known?.configuration === configuration && known.keyVersion === keyVersion) return known;
    const print = fingerprint(configuration);
    if (known?.fingerprint === print && known.keyVersion === keyVersion) {
      known.configuration = configuration;
      return known;
    }
    const open = (): Promise<UpstreamSession> =>
      openSession(
        requester,
        endpointFor(target, options.tokens),
        performance.now() + options.openTimeoutMs,
        undefined,
        client?.capabilities,
      );
    // A kept-alive connection may close just as it is reused; opening twice does no harm.
    const opened = open().catch((error: unknown) => {
      if (isKind(error, "broken")) return open();
      throw error;
    });
    const entry: Entry = {
      connectionId,
      keyVersion,
      fingerprint: print,
      configuration,
      opened,
      session: undefined,
      lost: false,
      forgotten: false,
      uses: 0,
      isReplaced: false,
    };
    opened.then(
      (session) => {
        entry.session = session;
        const shared = String(connectionId);
        if (session.revision === "modern" && !entries.has(shared)) entries.set(shared, entry);
      },
      () => drop(key, entry),
    );
    entries.set(key, entry);
    return entry;
  };

  return {
    use: async (target, { repeatable, isPassive = false, client, signal }, work) => {
      for (let isFirst = true; ; isFirst = false) {
        const key = keyFor(target, client);
        const entry = acquire(key, target, client);
        const session = entry.session ?? (await orAborted(entry.opened, signal));
        if (!isPassive) entry.uses += 1;
        const asked = client !== undefined && "ask" in client ? client : undefined;
        if (asked !== undefined) session.clients.add(asked);
        try {
          return await work(session);
        } catch (error) {
          const isLost = isKind(error, "session_lost");
          if (isLost) drop(key, entry);
          const mayRepeat = isFirst && !entry.forgotten;
          if (!mayRepeat || !(isLost || (repeatable && isKind(error, "broken")))) throw error;
        } finally {
          if (!isPassive) entry.uses -= 1;
          if (!isPassive && entry.uses === 0 && entry.isReplaced && !entry.forgotten) closeSession(entry);
          if (asked !== undefined) session.clients.delete(asked);
        }
      }
    },
    isInUse: (connectionId) => (entries.peek(String(connectionId))?.uses ?? 0) > 0,
    forget: (connectionId) => {
      for (const [key, entry] of [...entries.entries()]) {
        if (entry.connectionId !== connectionId) continue;
        entry.forgotten = true;
        entries.delete(key);
      }
    },
    close: () => {
      clearInterval(sweep);
      isClosing = true;
      entries.clear();
    },
  };
}

function isKind(error: unknown, kind: UpstreamFailure["kind"]): boolean {
  return error instanceof UpstreamFailure && error.kind === kind;
}
