import type { Principal } from "../../identity/principal.ts";
import type { Notification } from "../../integrations/relay.ts";
import type { JsonObject } from "../../json.ts";
import type { RegisteredStream, OpenStreams } from "../../runtime/sessions/open-streams.ts";
import type { Session } from "../../runtime/sessions/session.ts";
import type { ToolChanges } from "../../runtime/tools/tool-changes.ts";
import type { NotificationFilter, UpstreamFeatures } from "../../runtime/upstream/upstream-features.ts";
import type { HttpExchange } from "../http/exchange.ts";
import { notificationText } from "./message.ts";
import { createSendQueue } from "./send-queue.ts";
import { EVENT_STREAM_HEADERS } from "../http/answer.ts";
import { eventText } from "./reply.ts";

/** A stream on which a client hears of changes, of either protocol revision. */
export interface ChangeStreamRequest {
  readonly exchange: HttpExchange;
  readonly bearer: Principal;
  readonly principal: Principal;
  readonly session: Session | undefined;
  readonly wantsTools: boolean;
  /** What it wants to hear of the upstreams; asked anew for every notification. */
  readonly interest: (session: Session | undefined) => NotificationFilter;
  /** The id of the last event that the client saw on an earlier stream. */
  readonly lastEventId: string | undefined;
  /** What the stream begins with. `eventId` stands for the state that the client is taken to know. */
  readonly opening: (eventId: string) => string;
  /** What is added to the parameters of every notification. */
  readonly mark: JsonObject | undefined;
  /** What it ends with when it is us who end it. */
  readonly closing: string | undefined;
  /** Whether this is the stream that its session is told on. */
  readonly isSpokenTo: () => boolean;
  /** Called once when the stream is over, or never came to be. */
  readonly onOver: () => void;
}

/** Opens streams of changes. */
export interface ChangeStreams {
  /** Opens a stream. Rejects while nothing is sent yet. */
  open(request: ChangeStreamRequest): Promise<void>;
}

/** What streams of changes need. */
export interface ChangeStreamDeps {
  readonly openStreams: OpenStreams;
  readonly toolChanges: ToolChanges;
  readonly features: UpstreamFeatures;
}

/**
 * Streams of changes. The id of an event stands for the tools that were seen when it was sent, so that a client that comes
 * back, to whichever replica, is told at once when they have changed meanwhile.
 */
export function createChangeStreams({ openStreams, toolChanges, features }: ChangeStreamDeps): ChangeStreams {
  return {
    async open(request) {
      const { exchange, principal, session, mark } = request;
      const stops: (() => void)[] = [request.onOver];
      let isOver = false;
      const over = (): void => {
        if (isOver) return;
        isOver = true;
        for (const stop of stops) stop();
      };
      exchange.onClose(over);
      let digest = "";
      let attended: RegisteredStream;
      try {
        if (request.wantsTools) digest = await toolChanges.digest(principal, session);
        attended = openStreams.register({
          bearer: request.bearer,
          principal,
          session,
          sendHeartbeat: () => queue.send("beat", ": still here\n\n"),
          end: () => {
            over();
            if (request.closing !== undefined) void outlet.write(eventText(request.closing));
            outlet.end();
          },
        });
      } catch (thrown) {
        over();
        throw thrown;
      }
      if (!exchange.isOpen) {
        attended.unregister();
        over();
        return;
      }
      stops.push(() => attended.unregister());
      const outlet = exchange.open(200, EVENT_STREAM_HEADERS);
      const queue = createSendQueue(outlet);

      const tell = ({ method, params }: Notification, eventId: string | undefined): void => {
        if (isOver || !request.isSpokenTo()) return;
        const text = notificationText(method, mark === undefined ? params : { ...params, _meta: mark });
        const key = typeof params.uri === "string" ? `${method} ${params.uri}` : method;
        queue.send(key, eventText(text, eventId));
      };
      const tellTools = (now: string): void => tell({ method: "notifications/tools/list_changed", params: {} }, now);

      queue.send("opening", request.opening(digest));
      if (request.wantsTools) {
        if (request.lastEventId !== undefined && request.lastEventId !== digest) tellTools(digest);
        stops.push(toolChanges.watch({ principal, session: () => attended.session(), onChange: tellTools }, digest));
      }
      const interest: NotificationFilter = {
        get resourcesListChanged() {
          return request.interest(attended.session()).resourcesListChanged;
        },
        get promptsListChanged() {
          return request.interest(attended.session()).promptsListChanged;
        },
        get resourceUris() {
          return request.interest(attended.session()).resourceUris;
        },
      };
      stops.push(features.follow(principal, interest, (notification) => tell(notification, undefined)));
    },
  };
}
