import type pg from "pg";
import type { Cancellation, CancellationFeed } from "../../../runtime/sessions/active-requests.ts";
import type { Listener } from "../../listener.ts";

/** The channel on which a replica asks the others to cancel a request. */
const CANCELLATION_CHANNEL = "patchbay_cancellation";

/** Cancellations over PostgreSQL's notifications. One that is lost costs its upstream a call that nobody awaits. */
export async function createCancellationFeed(
  pool: pg.Pool,
  listener: Pick<Listener, "listen">,
): Promise<CancellationFeed> {
  const callbacks: ((cancellation: Cancellation) => void)[] = [];
  await listener.listen(CANCELLATION_CHANNEL, (payload) => {
    const cancellation = parse(payload);
    if (cancellation !== undefined) for (const callback of callbacks) callback(cancellation);
  });
  return {
    async announce({ session, request }) {
      await pool.query({
        name: "cancellation_announce",
        text: "select pg_notify($1, $2)",
        values: [CANCELLATION_CHANNEL, JSON.stringify({ session, request })],
      });
    },
    onCanceled(callback) {
      callbacks.push(callback);
    },
  };
}

function parse(payload: string): Cancellation | undefined {
  const value: unknown = JSON.parse(payload);
  if (typeof value !== "object" || value === null || !("session" in value)) return undefined;
  const { session } = value;
  const request = "request" in value ? value.request : undefined;
  const isRequest = typeof request === "string" || request === undefined;
  return typeof session === "string" && isRequest ? { session, request } : undefined;
}
