import { type Client, createClient, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { ConnectionService } from "../../../gen/proto/patchbay/v1/connection_service_pb.ts";
import type { BrowserSession } from "./session.ts";

/** How long to wait after a watch has ended before the next, in milliseconds. */
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

/** Calls back after every change of a connection until the signal says stop; comes back by itself when a watch ends. */
export async function watchConnections(
  session: BrowserSession,
  onChange: () => void,
  signal: AbortSignal,
): Promise<void> {
  const client = createWatchClient(session);
  while (!signal.aborted) {
    try {
      for await (const { event } of client.watchConnections({}, { signal })) {
        if (event !== "heartbeat") onChange();
      }
    } catch {
      // A watch ends with the token, the network or the server; the next one begins with a snapshot.
      session.forget();
    }
    await new Promise((resolve) => setTimeout(resolve, AGAIN_AFTER_MS));
  }
}
