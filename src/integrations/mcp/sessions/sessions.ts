import { LRUCache } from "lru-cache";
import type { JsonObject } from "../../../json.ts";
import { orAborted } from "../../or-aborted.ts";
import type { Target } from "../../target.ts";
import { endpointFor, fingerprint } from "../http/endpoint.ts";
import type { GrantedTokens } from "../../oauth/granted-tokens.ts";
import { openSession } from "./open-session.ts";
import type { Requester } from "./request.ts";
import type { UpstreamSession } from "./session.ts";
import { UpstreamFailure } from "../failures/upstream-failure.ts";

const SWEEP_MS = 60_000;

/** How long the end of the process may wait for upstreams to hear of it, in milliseconds. */
const CLOSE_TIMEOUT_MS = 1_000;
const MAX_SESSIONS = 10_000;

/** How one piece of work uses a session. */
export interface SessionUse {
  /** Whether the work may be done again when the connection broke and nobody knows whether it was carried out. */
  readonly repeatable: boolean;
  readonly signal: AbortSignal;
}

/** The sessions of this process with its upstreams: one a connection, shared by its calls. */
export interface UpstreamSessions {
  /**
   * Runs work in the connection's session, opening it when there is none; concurrent calls share the opening. When the
   * upstream has lost the session it is opened anew and the work run once more, since it was not carried out.
   */
  use<Result>(target: Target, how: SessionUse, work: (session: UpstreamSession) => Promise<Result>): Promise<Result>;
  /** Closes and forgets a connection's session. */
  forget(connectionId: number): void;
  /** Closes all. */
  close(): void;
}

/** Times of sessions, in milliseconds. */
export interface UpstreamSessionOptions {
  /** Those of owners' logins. */
  readonly tokens?: GrantedTokens | undefined;
  /** How long opening one may take. */
  readonly openTimeoutMs: number;
  /** How long one is kept unused. */
  readonly idleMs: number;
}

interface Entry {
  readonly keyVersion: number;
  readonly fingerprint: string;
  /** The configuration it was last used with: the same object needs no second look. */
  configuration: JsonObject;
  readonly opened: Promise<UpstreamSession>;
  /** The session once it is open. */
  session: UpstreamSession | undefined;
  /** Set when the upstream has ended it already. */
  lost: boolean;
  /** Set when the connection is gone: nothing more may be sent for it. */
  forgotten: boolean;
}

/** Sessions in memory, bounded and forgotten when idle. They hold their connection's secrets for that time. */
export function createUpstreamSessions(requester: Requester, options: UpstreamSessionOptions): UpstreamSessions {
  let isClosing = false;
  const entries = new LRUCache<number, Entry>({
    max: MAX_SESSIONS,
    ttl: options.idleMs,
    updateAgeOnGet: true,
    dispose: (entry) => {
      if (entry.lost) return;
      const timeoutMs = isClosing ? CLOSE_TIMEOUT_MS : undefined;
      entry.opened.then(
        (session) => requester.close(session, timeoutMs),
        () => undefined,
      );
    },
  });
  const sweep = setInterval(() => entries.purgeStale(), Math.min(SWEEP_MS, options.idleMs)).unref();

  const drop = (connectionId: number, entry: Entry): void => {
    entry.lost = true;
    if (entries.peek(connectionId) === entry) entries.delete(connectionId);
  };

  const acquire = (target: Target): Entry => {
    const { connectionId, keyVersion, configuration } = target;
    const known = entries.get(connectionId);
    if (known?.configuration === configuration && known.keyVersion === keyVersion) return known;
    const print = fingerprint(configuration);
    if (known?.fingerprint === print && known.keyVersion === keyVersion) {
      known.configuration = configuration;
      return known;
    }
    const open = (): Promise<UpstreamSession> =>
      openSession(requester, endpointFor(target, options.tokens), performance.now() + options.openTimeoutMs);
    // A kept-alive connection may close just as it is used again; opening twice does no harm.
    const opened = open().catch((error: unknown) => {
      if (isKind(error, "broken")) return open();
      throw error;
    });
    const entry: Entry = {
      keyVersion,
      fingerprint: print,
      configuration,
      opened,
      session: undefined,
      lost: false,
      forgotten: false,
    };
    opened.then(
      (session) => {
        entry.session = session;
      },
      () => drop(connectionId, entry),
    );
    entries.set(connectionId, entry);
    return entry;
  };

  return {
    use: async (target, { repeatable, signal }, work) => {
      for (let isFirst = true; ; isFirst = false) {
        const entry = acquire(target);
        const session = entry.session ?? (await orAborted(entry.opened, signal));
        try {
          return await work(session);
        } catch (error) {
          const isLost = isKind(error, "session_lost");
          if (isLost) drop(target.connectionId, entry);
          const mayRepeat = isFirst && !entry.forgotten;
          if (!mayRepeat || !(isLost || (repeatable && isKind(error, "broken")))) throw error;
        }
      }
    },
    forget: (connectionId) => {
      const entry = entries.peek(connectionId);
      if (entry !== undefined) entry.forgotten = true;
      entries.delete(connectionId);
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
