import { type Client, createClient, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import type { Connection } from "../../../gen/proto/patchbay/v1/connection_pb.ts";
import { ConnectionService } from "../../../gen/proto/patchbay/v1/connection_service_pb.ts";
import type { BrowserSession } from "./session.ts";

/** Pause between two watches, in milliseconds. */
const AGAIN_AFTER_MS = 2_000;

function createWatchClient(session: BrowserSession): Client<typeof ConnectionService> {
  const withToken: Interceptor = (next) => async (request) => {
    request.header.set("authorization", `Bearer ${await session.accessToken()}`);
    return next(request);
  };
  return createClient(
    ConnectionService,
    createConnectTransport({ baseUrl: location.origin, interceptors: [withToken] }),
  );
}

/** The fields that determine a connection's tools. If they are unchanged, only tools were enabled or disabled. */
function toolsHangOn({ apiKeyVerificationStatus, pendingToolChanges }: Connection): string {
  return `${apiKeyVerificationStatus} ${pendingToolChanges ?? 0}`;
}

/**
 * Calls back after every change of a connection, with whether its tools may have changed, until the signal aborts.
 * Reconnects when a watch ends.
 */
export async function watchConnections(
  session: BrowserSession,
  onChange: (mayHaveOtherTools: boolean) => void,
  signal: AbortSignal,
): Promise<void> {
  const client = createWatchClient(session);
  const known = new Map<string, string>();
  while (!signal.aborted) {
    try {
      for await (const { event, connections } of client.watchConnections({}, { signal })) {
        if (event === "heartbeat") continue;
        const isKnown = known.size > 0;
        const others = connections.filter((each) => known.get(String(each.id)) !== toolsHangOn(each));
        for (const each of others) known.set(String(each.id), toolsHangOn(each));
        // The first snapshot is ignored, because the page loads its data at the same time.
        onChange(others.length > 0 && isKnown);
      }
    } catch {
      // A watch ends with the token, the network or the server; the next one starts with a snapshot.
      session.forget();
    }
    await new Promise((resolve) => setTimeout(resolve, AGAIN_AFTER_MS));
  }
}
