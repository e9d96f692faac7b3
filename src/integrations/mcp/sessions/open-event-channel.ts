import { answerFailure } from "./answer-failure.ts";
import { quote, type Endpoint } from "../http/endpoint.ts";
import type { StreamEvent } from "../http/event-stream.ts";
import type { McpAnswer, McpExchangeRequest } from "../http/mcp-exchange.ts";
import { transportFailure } from "../failures/transport-failure.ts";
import { UpstreamFailure } from "../failures/upstream-failure.ts";
import type { UpstreamNotification } from "../../features.ts";
import { createEventChannel, type ChannelInput, type EventChannel } from "./event-channel.ts";
import type { JsonObject } from "../../../json.ts";
import { createUninitializedSession, type UpstreamSession } from "./session.ts";
import { createStreamListener } from "./stream-listener.ts";

/** Milliseconds that a server may take to announce the address for messages. */
const ENDPOINT_TIMEOUT_MS = 5_000;
const MAX_ADDRESS_LENGTH = 4_096;

/** Maximum number of streams to one origin: half of its sockets, so that messages find a free one. */
const MAX_CHANNELS_PER_ORIGIN = 1_000;

export interface ChannelDeps {
  readonly send: (session: UpstreamSession, request: Partial<McpExchangeRequest>) => Promise<McpAnswer>;
  /** Sends a response to a request of the server. */
  readonly reply: (session: UpstreamSession, message: JsonObject) => void;
}

/**
 * Opens the stream of a server that speaks HTTP+SSE and waits for the address that it announces. Returns undefined if
 * the server does not answer with a stream. Throws UpstreamFailure, or the signal's reason.
 */
export type OpenChannel = (
  endpoint: Endpoint,
  deadlineMs: number,
  signal: AbortSignal | undefined,
) => Promise<EventChannel | undefined>;

export function createChannelOpener({ send, reply }: ChannelDeps): OpenChannel {
  const openByOrigin = new Map<string, number>();

  async function get(endpoint: Endpoint, request: Partial<McpExchangeRequest>): Promise<McpAnswer> {
    const { origin, label } = endpoint;
    const open = openByOrigin.get(origin) ?? 0;
    if (open >= MAX_CHANNELS_PER_ORIGIN)
      throw new UpstreamFailure("refused", `Too many event streams to ${label} are open. Try again later.`);
    openByOrigin.set(origin, open + 1);
    try {
      return await send(createUninitializedSession(endpoint), { ...request, method: "GET", isEndless: true });
    } finally {
      const left = (openByOrigin.get(origin) ?? 1) - 1;
      if (left > 0) openByOrigin.set(origin, left);
      else openByOrigin.delete(origin);
    }
  }

  return (endpoint, deadlineMs, signal) =>
    openEventChannel({ endpoint, get: (request) => get(endpoint, request), reply }, deadlineMs, signal);
}

interface OpeningDeps extends Pick<ChannelDeps, "reply"> {
  readonly endpoint: Endpoint;
  /** Opens the stream. Resolves when it has ended. */
  readonly get: (request: Partial<McpExchangeRequest>) => Promise<McpAnswer>;
}

async function openEventChannel(
  { endpoint, get, reply }: OpeningDeps,
  deadlineMs: number,
  signal: AbortSignal | undefined,
): Promise<EventChannel | undefined> {
  const server = `The MCP server at ${endpoint.label}`;
  const closing = new AbortController();
  const { promise: opened, resolve, reject } = Promise.withResolvers<EventChannel | undefined>();
  let input: ChannelInput | undefined;

  function open(announced: string): void {
    const path = postPath(announced, endpoint);
    if (path === undefined) {
      const message = `${server} announced an address for messages that is not on the same server (${quote(announced, endpoint)}).`;
      reject(new UpstreamFailure("refused", message));
      closing.abort();
      return;
    }
    input = createEventChannel(path, closing, (text) => void listener.read(text));
    const { channel } = input;
    const session = createUninitializedSession(endpoint, channel);
    // Requests of the server do not say which call they belong to, so such a session has only one client.
    const listener = createStreamListener(session, 0, {
      reply: (message) => reply(session, message),
      relay: undefined,
      client: () => [...channel.clients].at(-1),
      onNotification: (notification: UpstreamNotification) => input?.announce(notification),
    });
    closing.signal.addEventListener("abort", () => listener.close(), { once: true });
    resolve(channel);
  }

  const onEvent = (event: StreamEvent): boolean => {
    if (event.type === "endpoint" && input === undefined) open(event.data);
    else input?.onEvent(event);
    return false;
  };
  const waitMs = Math.max(1, Math.min(ENDPOINT_TIMEOUT_MS, deadlineMs - performance.now()));
  const timer = setTimeout(() => {
    reject(new UpstreamFailure("timeout", `${server} opened an event stream but announced no address for messages.`));
    closing.abort();
  }, waitMs);
  const onAbort = (): void => {
    reject(signal?.reason instanceof Error ? signal.reason : new Error("The call was aborted."));
    closing.abort();
  };
  signal?.addEventListener("abort", onAbort, { once: true });
  get({ timeoutMs: waitMs, signal: closing.signal, onEvent }).then(
    (answered) => {
      const { status } = answered;
      // Servers that speak only HTTP+SSE refuse a POST before they ask for a token.
      if (status === 401 || status === 403)
        reject(answerFailure(answered, undefined, createUninitializedSession(endpoint)));
      else resolve(undefined);
      input?.close(new UpstreamFailure("broken", `${server} closed its event stream before its answer was complete.`));
    },
    (error: unknown) => {
      const failure = transportFailure(error, endpoint);
      reject(failure);
      input?.close(failure);
    },
  );
  try {
    return await opened;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
  }
}

/** Returns path and query of an announced address. Undefined unless it has the origin of the stream. */
function postPath(announced: string, { origin, path }: Endpoint): string | undefined {
  if (announced.length > MAX_ADDRESS_LENGTH || !URL.canParse(announced, origin + path)) return undefined;
  const url = new URL(announced, origin + path);
  return url.origin === origin ? url.pathname + url.search : undefined;
}
