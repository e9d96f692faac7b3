import type { Principal } from "../../identity/principal.ts";
import type { Notification } from "../../integrations/relay.ts";
import type { JsonObject } from "../../json.ts";
import type { RegisteredStream, OpenStreams } from "../../runtime/sessions/open-streams.ts";
import type { McpSession } from "../../runtime/sessions/session.ts";
import type { ToolChanges } from "../../runtime/tools/tool-changes.ts";
import type { NotificationFilter, UpstreamFeatures } from "../../runtime/upstream/upstream-features.ts";
import type { HttpExchange } from "../http/exchange.ts";
import { notificationText } from "./message.ts";
import { createSendQueue } from "./send-queue.ts";
import { EVENT_STREAM_HEADERS } from "../http/answer.ts";
import { eventText } from "./reply.ts";

/** A stream of change notifications, for both protocol handlers. */
export interface ChangeStreamRequest {
  readonly exchange: HttpExchange;
  /** The principal of the token, which a client may replace by a newer one. */
  readonly bearer: () => Principal;
  readonly principal: Principal;
  readonly session: McpSession | undefined;
  readonly wantsTools: boolean;
  /** Called for every notification, because the subscriptions of a session change. */
  readonly filter: (session: McpSession | undefined) => NotificationFilter;
  /** Sends further notifications until the returned function is called. */
  readonly follow: ((send: (notification: Notification) => void) => () => void) | undefined;
  /** The id of the last event that the client received on an earlier stream. */
  readonly lastEventId: string | undefined;
  /** Returns the first event. `eventId` identifies the tools that the client is assumed to know. */
  readonly opening: (eventId: string) => string;
  /** Added to the parameters of every notification as `_meta`. */
  readonly mark: JsonObject | undefined;
  /** The last event when the service closes the stream. */
  readonly closing: string | undefined;
  /** Whether the session's notifications go to this stream. */
  readonly isNewest: () => boolean;
  /** Called once when the stream is closed or could not be opened. */
  readonly onClosed: () => void;
  /** Called instead of closing when the service stops; the callback closes the stream when it is no longer needed. */
  readonly onStopping?: (close: () => void) => void;
}

/** An open stream. */
export interface OpenChangeStream {
  /** Sends an event, which is never dropped. Resolves when the client can take more. */
  send(event: string): Promise<void>;
  close(): void;
}

export interface ChangeStreams {
  /** Opens a stream. Rejects only before anything is sent. Returns undefined if the client has disconnected. */
  open(request: ChangeStreamRequest): Promise<OpenChangeStream | undefined>;
  /** Tells the session's streams that its subscriptions changed. */
  refresh(session: McpSession): Promise<void>;
}

export interface ChangeStreamDeps {
  readonly openStreams: OpenStreams;
  readonly toolChanges: ToolChanges;
  readonly features: UpstreamFeatures;
}

/**
 * The id of an event is the digest of the tools at that time. A client that reconnects to any replica is notified
 * immediately if the tools changed meanwhile.
 */
export function createChangeStreams({ openStreams, toolChanges, features }: ChangeStreamDeps): ChangeStreams {
  return {
    refresh: (session) => openStreams.refresh(session),

    async open(request) {
      const { exchange, principal, session, mark } = request;
      const stops: (() => void)[] = [request.onClosed];
      let isClosed = false;
      const isOver = (): boolean => isClosed;
      const close = (): void => {
        if (isClosed) return;
        isClosed = true;
        for (const stop of stops) stop();
      };
      const end = (): void => {
        if (isClosed) return;
        close();
        if (request.closing !== undefined) void outlet.write(eventText(request.closing));
        outlet.end();
      };
      exchange.onClose(close);
      let digest = "";
      let attended: RegisteredStream;
      try {
        if (request.wantsTools) digest = await toolChanges.digest(principal, session);
        attended = openStreams.register({
          get bearer() {
            return request.bearer();
          },
          principal,
          session,
          sendHeartbeat: () => queue.send("beat", ": heartbeat\n\n"),
          onSession: () => followed.settle(),
          end,
          stop: () => {
            if (request.onStopping === undefined) end();
            else request.onStopping(end);
          },
        });
      } catch (thrown) {
        close();
        throw thrown;
      }
      if (!exchange.isOpen) {
        attended.unregister();
        close();
        return undefined;
      }
      stops.push(() => attended.unregister());
      const outlet = exchange.open(200, EVENT_STREAM_HEADERS);
      const queue = createSendQueue(outlet);

      let isOpening = true;
      const tell = ({ method, params }: Notification, eventId: string | undefined): void => {
        if (isOpening || isClosed || !request.isNewest()) return;
        const text = notificationText(method, mark === undefined ? params : { ...params, _meta: mark });
        const subject = params.uri ?? params.taskId;
        const key = typeof subject === "string" ? `${method} ${subject}` : method;
        queue.send(key, eventText(text, eventId));
      };
      const tellTools = (now: string): void => tell({ method: "notifications/tools/list_changed", params: {} }, now);

      const filter: NotificationFilter = {
        get resourcesListChanged() {
          return request.filter(attended.session()).resourcesListChanged;
        },
        get promptsListChanged() {
          return request.filter(attended.session()).promptsListChanged;
        },
        get resourceUris() {
          return request.filter(attended.session()).resourceUris;
        },
        get client() {
          return request.filter(attended.session()).client;
        },
      };
      const pass = (notification: Notification): void => tell(notification, undefined);
      const followed = features.follow(principal, filter, pass);
      stops.push(() => followed.stop());
      // Without sessions the first event acknowledges the subscriptions.
      if (session === undefined && filter.resourceUris.size > 0) await followed.settle();
      if (isOver()) return undefined;
      isOpening = false;
      queue.send("opening", request.opening(digest));
      if (request.wantsTools) {
        if (request.lastEventId !== undefined && request.lastEventId !== digest) tellTools(digest);
        stops.push(toolChanges.watch({ principal, session: () => attended.session(), onChange: tellTools }, digest));
      }
      if (request.follow !== undefined) stops.push(request.follow(pass));
      return {
        send: async (event) => {
          if (!isClosed) await outlet.write(event);
        },
        close: end,
      };
    },
  };
}
