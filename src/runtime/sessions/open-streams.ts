import type { WarnLog } from "../../log.ts";
import type { Principal } from "../../identity/principal.ts";
import type { ConnectionView } from "../../connections/connection-view.ts";
import type { StreamSlots } from "../../connections/watch/stream-slots.ts";
import type { McpSession } from "./session.ts";
import type { Sessions } from "./sessions.ts";

/** How often open streams are checked, in milliseconds. */
const SWEEP_MS = 1_000;
const SWEEPS_PER_HEARTBEAT = 15;

/** A stream that stays open until the client or the service closes it. */
export interface OpenStream {
  /** The principal of the token; token revocations refer to it. A newer token can replace it with its own principal. */
  readonly bearer: Principal;
  /** The principal, restricted to the connection of the stream. */
  readonly principal: Principal;
  /** Undefined in a protocol without sessions. */
  readonly session: McpSession | undefined;
  /** Prevents intermediaries from closing the idle connection. */
  readonly sendHeartbeat: () => void;
  /** Called after a change of the session. Resolves when the change has had its effect; never rejects. */
  readonly onSession: () => Promise<void>;
  readonly end: () => void;
  /** Ends the stream because the service stops, possibly after its last response. */
  readonly stop: () => void;
}

export interface RegisteredStream {
  /** The session as of the last check. */
  session(): McpSession | undefined;
  /** Call it when the stream is closed, by either side. */
  unregister(): void;
}

/** The streams that are open on this replica. */
export interface OpenStreams {
  /** Monitors a stream until it is closed. Throws `exhausted` when the account has too many streams. */
  register(stream: OpenStream): RegisteredStream;
  /**
   * Passes a changed session to its streams on this replica; the others get it within two seconds. Resolves when the
   * change has had its effect. Never rejects.
   */
  refresh(session: McpSession): Promise<void>;
  /** Stops all streams. */
  close(): void;
}

export interface OpenStreamsDeps {
  readonly sessions: Pick<Sessions, "findAll">;
  readonly connections: Pick<ConnectionView, "find">;
  /** Shared with the other streams of the account. */
  readonly slots: StreamSlots;
  /** Whether the token is neither expired nor revoked. */
  readonly isTokenValid: (principal: Principal) => boolean | Promise<boolean>;
  readonly log: WarnLog;
}

interface Entry {
  readonly stream: OpenStream;
  session: McpSession | undefined;
}

/**
 * Closes a stream within 1.5 seconds after its token, its session or its connection ends. One query per second checks
 * the sessions of all streams.
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

  async function setSession(entry: Entry, session: McpSession | undefined): Promise<void> {
    if (entry.session === session) return;
    entry.session = session;
    await entry.stream.onSession();
  }

  async function sweep(): Promise<void> {
    const checked = [...open];
    const sessions = checked.flatMap(({ session }) => (session === undefined ? [] : [session]));
    const present = sessions.length === 0 ? new Map<string, McpSession>() : await deps.sessions.findAll(sessions);
    for (const entry of checked) {
      const { session, stream } = entry;
      const now = session && present.get(session.id);
      const isOver = (session !== undefined && now === undefined) || !(await isAllowed(entry));
      if (isOver) stream.end();
      // A refresh during the sweep brought a newer session.
      else if (entry.session === session) void setSession(entry, now);
    }
    sweeps += 1;
    if (sweeps % SWEEPS_PER_HEARTBEAT === 0) for (const { stream } of open) stream.sendHeartbeat();
  }

  function schedule(): void {
    if (timer !== undefined || open.size === 0) return;
    timer = setTimeout(() => {
      sweep()
        // A stream whose check failed stays open; requests with its token are still checked one by one.
        .catch((error: unknown) => deps.log.warn({ err: error }, "could not check open streams"))
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
    async refresh(session) {
      const own = [...open].filter((entry) => entry.session?.id === session.id);
      await Promise.all(own.map((entry) => setSession(entry, session)));
    },
    close() {
      for (const { stream } of [...open]) stream.stop();
    },
  };
}
