import { LRUCache } from "lru-cache";
import type { Target } from "../integration.ts";
import { endpointOf, fingerprint } from "./endpoint.ts";
import { openSession } from "./open-session.ts";
import type { Requester } from "./request.ts";
import type { Session } from "./session.ts";
import { UpstreamFailure } from "./upstream-failure.ts";

/** How long a session is kept unused, in milliseconds. */
const IDLE_MS = 10 * 60_000;
const SWEEP_MS = 60_000;
const MAX_SESSIONS = 10_000;

/** How one piece of work uses a session. */
export interface Use {
  /** Whether the work may be done again when the connection broke and nobody knows whether it was carried out. */
  readonly repeatable: boolean;
  readonly signal: AbortSignal;
}

/** The sessions of this process with its upstreams: one a connection, shared by its calls. */
export interface Sessions {
  /**
   * Runs work in the connection's session, opening it when there is none; concurrent calls share the opening. When the
   * upstream has lost the session it is opened anew and the work run once more, since it was not carried out.
   */
  use<Result>(target: Target, how: Use, work: (session: Session) => Promise<Result>): Promise<Result>;
  /** Closes and forgets a connection's session. */
  forget(connectionId: number): void;
  /** Closes all. */
  close(): void;
}

interface Entry {
  readonly keyVersion: number;
  readonly fingerprint: string;
  readonly opened: Promise<Session>;
  /** Set when the upstream has ended it already. */
  lost: boolean;
}

/** Sessions in memory, bounded and forgotten when idle. They hold their connection's secrets for that time. */
export function createSessions(requester: Requester, openTimeoutMs: number): Sessions {
  const entries = new LRUCache<number, Entry>({
    max: MAX_SESSIONS,
    ttl: IDLE_MS,
    updateAgeOnGet: true,
    dispose: (entry) => {
      if (!entry.lost)
        entry.opened.then(
          (session) => requester.close(session),
          () => undefined,
        );
    },
  });
  const sweep = setInterval(() => entries.purgeStale(), SWEEP_MS).unref();

  const drop = (connectionId: number, entry: Entry): void => {
    entry.lost = true;
    if (entries.peek(connectionId) === entry) entries.delete(connectionId);
  };

  const acquire = ({ connectionId, keyVersion, configuration }: Target): Entry => {
    const known = entries.get(connectionId);
    const print = fingerprint(configuration);
    if (known?.keyVersion === keyVersion && known.fingerprint === print) return known;
    const open = (): Promise<Session> =>
      openSession(requester, endpointOf(configuration), performance.now() + openTimeoutMs);
    // A kept-alive connection may close just as it is used again; opening twice does no harm.
    const opened = open().catch((error: unknown) => {
      if (isKind(error, "broken")) return open();
      throw error;
    });
    const entry: Entry = { keyVersion, fingerprint: print, opened, lost: false };
    opened.catch(() => drop(connectionId, entry));
    entries.set(connectionId, entry);
    return entry;
  };

  return {
    use: async (target, { repeatable, signal }, work) => {
      for (let isFirst = true; ; isFirst = false) {
        const entry = acquire(target);
        const session = await unlessAborted(entry.opened, signal);
        try {
          return await work(session);
        } catch (error) {
          const isLost = isKind(error, "session_lost");
          if (isLost) drop(target.connectionId, entry);
          if (!isFirst || !(isLost || (repeatable && isKind(error, "broken")))) throw error;
        }
      }
    },
    forget: (connectionId) => {
      entries.delete(connectionId);
    },
    close: () => {
      clearInterval(sweep);
      entries.clear();
    },
  };
}

function isKind(error: unknown, kind: UpstreamFailure["kind"]): boolean {
  return error instanceof UpstreamFailure && error.kind === kind;
}

/** What others wait for too must go on when one of them leaves. */
async function unlessAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  signal.throwIfAborted();
  let leave: (() => void) | undefined;
  const left = new Promise<never>((_resolve, reject) => {
    leave = () => reject(signal.reason instanceof Error ? signal.reason : new Error("aborted"));
    signal.addEventListener("abort", leave, { once: true });
  });
  try {
    return await Promise.race([promise, left]);
  } finally {
    if (leave !== undefined) signal.removeEventListener("abort", leave);
  }
}
