import { AnswerRefused } from "../failures/answer-refused.ts";
import type { McpAnswer } from "../http/mcp-exchange.ts";
import type { EventChannel } from "./event-channel.ts";
import type { StreamListener } from "./stream-listener.ts";

/** Notifications that wait for a slow client; further ones are dropped, because the channel serves other calls too. */
const MAX_WAITING = 100;
/** Milliseconds that a POST may stay open after the response on the channel. */
const POST_CLOSE_DELAY_MS = 1_000;

export interface ChannelRequest {
  readonly id: number;
  readonly reader: StreamListener;
  readonly timeoutMs: number | undefined;
  readonly signal: AbortSignal | undefined;
  readonly post: (signal: AbortSignal) => Promise<McpAnswer>;
}

/**
 * Sends a request by POST and waits for its response on the channel. Resolves with the answer to the POST if that is an
 * error, otherwise with an answer whose message was passed to the reader.
 */
export async function awaitChannelResponse(channel: EventChannel, request: ChannelRequest): Promise<McpAnswer> {
  const { id, reader, timeoutMs, signal, post } = request;
  const { promise, resolve, reject } = Promise.withResolvers<McpAnswer>();
  const over = new AbortController();
  let handled: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  const stop = channel.expect(id, {
    onNotification(text) {
      if (waiting >= MAX_WAITING) return;
      waiting += 1;
      handled = handled.then(() => reader.read(text)).then(() => (waiting -= 1), reject);
    },
    onResponse(text) {
      void handled.then(() => {
        void reader.read(text);
        resolve({ ...ON_CHANNEL, bytes: Buffer.byteLength(text) });
      });
    },
    onClosed: reject,
  });
  const onAbort = (): void =>
    reject(signal?.reason instanceof Error ? signal.reason : new Error("The call was aborted."));
  signal?.addEventListener("abort", onAbort, { once: true });
  const timer =
    timeoutMs === undefined
      ? undefined
      : setTimeout(() => reject(new AnswerRefused("timeout", "no answer on the event stream in time")), timeoutMs);
  // Some servers answer the POST only after the response.
  post(signal === undefined ? over.signal : AbortSignal.any([signal, over.signal])).then((answer) => {
    if (answer.status >= 300) resolve(answer);
  }, reject);
  try {
    return await promise;
  } finally {
    stop();
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
    setTimeout(() => over.abort(new Error("the answer has come")), POST_CLOSE_DELAY_MS).unref();
  }
}

const ON_CHANNEL: Omit<McpAnswer, "bytes"> = {
  status: 200,
  contentType: "application/json",
  sessionId: undefined,
  location: undefined,
  retryAfter: undefined,
  challenge: undefined,
  body: Buffer.alloc(0),
  resume: undefined,
};
