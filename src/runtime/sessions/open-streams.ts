import type { WarnLog } from "../../log.ts";
import type { Principal } from "../../identity/principal.ts";
import type { ConnectionView } from "../../connections/connection-view.ts";
import type { StreamSlots } from "../../connections/watch/stream-slots.ts";
import type { Session } from "./session.ts";
import type { Sessions } from "./sessions.ts";

/** How often open streams are looked at, in milliseconds. */
const SWEEP_MS = 1_000;
/** Sweeps between two signs of life. */
const SWEEPS_PER_HEARTBEAT = 15;

/** A stream that has no end of its own. */
export interface OpenStream {
  /** Who opened it, as the token says: revocations are about tokens. */
  readonly bearer: Principal;
  /** Who opened it, narrowed to the connection that it is about. */
  readonly principal: Principal;
  /** The session it belongs to; undefined in a protocol without sessions. */
  readonly session: Session | undefined;
  /** Keeps intermediaries from taking it for dead. */
  readonly sendHeartbeat: () => void;
  /** Ends it. */
  readonly end: () => void;
}

/** A stream that is being looked after. */
export interface RegisteredStream {
  /** Its session as it was when last looked at. */
  session(): Session | undefined;
  /** To be called when the stream is over, whoever ended it. */
  unregister(): void;
}

/** The streams that are open on this replica. */
export interface OpenStreams {
  /** Looks after a stream until it ends. Throws `exhausted` when the account has too many. */
  register(stream: OpenStream): RegisteredStream;
  /** Ends all. */
  close(): void;
}

/** What looking after streams needs. */
export interface OpenStreamsDeps {
  readonly sessions: Pick<Sessions, "findAll">;
  readonly connections: Pick<ConnectionView, "find">;
  /** Shared with the other streams of the account. */
  readonly slots: StreamSlots;
  /** Whether the token is still honoured. */
  readonly isTokenValid: (principal: Principal) => boolean | Promise<boolean>;
  readonly log: WarnLog;
}

interface Entry {
  readonly stream: OpenStream;
  session: Session | undefined;
}

/**
 * Looks after open streams: one ends with its token, its session or the one connection that it is about, at most a second
 * and a half later. One query a second looks at the sessions of all streams.
 */
export function createOpenStreams(deps: OpenStreamsDeps): OpenStreams {
  const open = new Set<Entry>();
  let timer: NodeJS.Timeout | undefined;
  let sweeps = 0;

  async function isAllowed({ stream: { bearer, principal } }: Entry): Promise<boolean> {
    if (!(await deps.isTokenValid(bearer))) return false;
    const { accountId, connectionId } = principal;
    return connectionId === undefined || (await deps.connections.find(accountId, connectionId)) !== undefined;
  }

  async function sweep(): Promise<void> {
    const checked = [...open];
    const sessions = checked.flatMap(({ session }) => (session === undefined ? [] : [session]));
    const present = sessions.length === 0 ? new Map<string, Session>() : await deps.sessions.findAll(sessions);
    for (const entry of checked) {
      const { session, stream } = entry;
      const now = session && present.get(session.id);
      const isOver = (session !== undefined && now === undefined) || !(await isAllowed(entry));
      if (isOver) stream.end();
      else entry.session = now;
    }
    sweeps += 1;
    if (sweeps % SWEEPS_PER_HEARTBEAT === 0) for (const { stream } of open) stream.sendHeartbeat();
  }

  function schedule(): void {
    if (timer !== undefined || open.size === 0) return;
    timer = setTimeout(() => {
      sweep()
        // A stream that nobody could look at stays open; the requests that it leads to are refused all the same.
        .catch((error: unknown) => deps.log.warn({ err: error }, "open streams could not be looked at"))
        .finally(() => {
          timer = undefined;
          schedule();
        });
    }, SWEEP_MS).unref();
  }

  return {
    register(stream) {
      const releaseSlot = deps.slots.take(stream.principal.accountId);
      const entry: Entry = { stream, session: stream.session };
      open.add(entry);
      schedule();
      return {
        session: () => entry.session,
        unregister: () => {
          if (open.delete(entry)) releaseSlot();
        },
      };
    },
    close() {
      for (const { stream } of [...open]) stream.end();
    },
  };
}
