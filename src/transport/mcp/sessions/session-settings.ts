import type { JsonValue } from "../../../json.ts";
import type { Principal } from "../../../identity/principal.ts";
import type { McpSession } from "../../../runtime/sessions/session.ts";
import { withinMs } from "../../../within-ms.ts";
import { invalidParams, methodNotFound } from "../methods.ts";
import { readLogLevel } from "../relay.ts";
import type { RequestStream } from "../reply.ts";
import type { Serving } from "../serving.ts";
import { createSessionClient } from "../session-client.ts";

/** Limits for the subscribed URIs of a session. */
const MAX_URI_LENGTH = 2_048;
const MAX_URIS = 1_000;
/** How long an upstream may take to accept a subscription, in milliseconds. */
const SUBSCRIBE_MS = 25_000;
/** How long to wait until the session's streams on this replica follow the resource, in milliseconds. */
const STREAM_WAIT_MS = 5_000;

/** The subscriber, and the stream that receives requests to its client meanwhile. */
interface Subscriber {
  readonly principal: Principal;
  readonly session: McpSession;
  readonly stream: RequestStream;
}

/** Requests that change which notifications a session's client receives. They return the result as JSON. */
export interface SessionSettings {
  setLogLevel(principal: Principal, session: McpSession, level: JsonValue | undefined): Promise<string>;
  /**
   * Subscribes or unsubscribes. The upstream knows a subscription before the client gets the response, in the session
   * of the client's calls on this replica. A stream on another replica follows the resource within two seconds.
   */
  subscribe(subscriber: Subscriber, method: string, uri: string): Promise<string>;
}

export function createSessionSettings({ features, sessions, sessionAnswers, streams }: Serving): SessionSettings {
  return {
    async setLogLevel(principal, session, level) {
      if ((await features.capabilities(principal)).logging === undefined) throw methodNotFound("logging/setLevel");
      const logLevel = readLogLevel(level);
      if (logLevel === undefined) throw invalidParams("level must be a log level of MCP, such as info.");
      await sessions.update(session, { logLevel });
      return "{}";
    },

    async subscribe({ principal, session, stream }, method, uri) {
      if ((await features.capabilities(principal)).resources?.subscribe !== true) throw methodNotFound(method);
      if (uri.length > MAX_URI_LENGTH || uri.includes("\0") || !uri.isWellFormed())
        throw invalidParams("uri is not a valid URI.");
      if (method === "resources/unsubscribe") {
        void streams.refresh(await sessions.update(session, { unsubscribe: uri }));
        return "{}";
      }
      if (session.resourceUris.size >= MAX_URIS)
        throw invalidParams(`A session subscribes to at most ${MAX_URIS} URIs.`);
      const signal = AbortSignal.timeout(SUBSCRIBE_MS);
      const client = createSessionClient(sessionAnswers, session, stream, signal);
      await features.subscribe(principal, uri, { client, signal });
      await withinMs(STREAM_WAIT_MS, streams.refresh(await sessions.update(session, { subscribe: uri })), undefined);
      return "{}";
    },
  };
}
