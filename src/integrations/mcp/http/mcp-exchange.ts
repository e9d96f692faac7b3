import type { Dispatcher } from "undici";
import { AnswerRefused } from "../failures/answer-refused.ts";
import { createEventStreamReader, type StreamEvent } from "./event-stream.ts";

/** Bytes of an answer; a stream counts as one answer. */
const MAX_ANSWER_BYTES = 5 * 1024 * 1024;

/** How long a stream may stay open after its answer, in milliseconds, so that its connection can be reused. */
const STREAM_CLOSE_DELAY_MS = 1_000;

/** `headers` are alternating names and values. */
export interface McpExchangeRequest {
  readonly origin: string;
  readonly path: string;
  readonly method: "POST" | "GET" | "DELETE";
  readonly headers: string[];
  readonly body?: string;
  /** Milliseconds for the whole exchange. Undefined if only the signal ends it. */
  readonly timeoutMs: number | undefined;
  /** The stream may stay open forever: the timeout covers its start, and the size limit each event. */
  readonly isEndless?: boolean;
  readonly signal?: AbortSignal | undefined;
  /**
   * Called for each event in order; returns true when the awaited event has arrived. Reading pauses until the promise
   * settles.
   */
  readonly onEvent?: (event: StreamEvent) => boolean | Promise<boolean>;
  /** Called once when a stream starts. */
  readonly onStream?: (() => void) | undefined;
}

/** `body` is empty for a stream, whose events went to `onEvent`. */
export interface McpAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly sessionId: string | undefined;
  readonly location: string | undefined;
  readonly retryAfter: string | undefined;
  /** The `WWW-Authenticate` header. */
  readonly challenge: string | undefined;
  readonly body: Buffer;
  /** Bytes received, including those of a stream. */
  readonly bytes: number;
  /** Where to resume a stream that ended before the awaited event, and after how long. */
  readonly resume: { readonly lastEventId: string; readonly afterMs: number } | undefined;
}

type Headers = Record<string, string | string[] | undefined>;

/**
 * Sends one request and reads its answer within the limits. A custom handler instead of undici's `request` needs no
 * stream object, and only one timer for all phases. Rejects with AnswerRefused if a limit is exceeded, with the
 * signal's reason, or with the dispatcher's error.
 */
export function sendMcpMessage(dispatcher: Dispatcher, request: McpExchangeRequest): Promise<McpAnswer> {
  return new Promise((resolve, reject) => {
    const { signal } = request;
    let controller: Dispatcher.DispatchController | undefined;
    let stopped: Error | undefined;
    let settled = false;
    let status = 0;
    let headers: Headers = {};
    let size = 0;
    const chunks: Buffer[] = [];
    let events: ReturnType<typeof createEventStreamReader> | undefined;
    const pendingEvents: StreamEvent[] = [];
    let isHandling = false;
    /** How the answer ended while an event handler was still running. */
    let deferredEnd: (() => void) | undefined;

    const stop = (reason: Error): void => {
      stopped ??= reason;
      controller?.abort(stopped);
      if (settle()) reject(stopped);
    };
    const onAbort = (): void => stop(abortReason(signal));
    const { timeoutMs } = request;
    let timer =
      timeoutMs === undefined
        ? undefined
        : setTimeout(() => stop(new AnswerRefused("timeout", "no complete answer in time")), timeoutMs);
    const settle = (): boolean => {
      if (settled) return false;
      settled = true;
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
      return true;
    };
    const finish = (isAnswered = false): void => {
      if (!settle()) return;
      const lastEventId = isAnswered ? undefined : events?.lastEventId();
      resolve({
        status,
        contentType: mediaType(headers),
        sessionId: single(headers["mcp-session-id"]),
        location: single(headers.location),
        retryAfter: single(headers["retry-after"]),
        challenge: listed(headers["www-authenticate"]),
        body: events === undefined ? Buffer.concat(chunks, size) : Buffer.alloc(0),
        bytes: size,
        resume: lastEventId === undefined ? undefined : { lastEventId, afterMs: events?.retryMs() ?? 1_000 },
      });
    };

    const handled = (isAwaited: boolean): void => {
      if (!isAwaited || settled) return;
      finish(true);
      timer = setTimeout(() => controller?.abort(new Error("the answer has come")), STREAM_CLOSE_DELAY_MS).unref();
    };
    const handleNext = (): void => {
      for (let event = pendingEvents.shift(); event !== undefined; event = pendingEvents.shift()) {
        if (settled) continue;
        const answer = request.onEvent?.(event) ?? false;
        if (answer instanceof Promise) {
          isHandling = true;
          controller?.pause();
          answer.then(resume, stop);
          return;
        }
        handled(answer);
      }
    };
    const resume = (isAwaited: boolean): void => {
      isHandling = false;
      handled(isAwaited);
      handleNext();
      // eslint-disable-next-line @typescript-eslint/no-unnecessary-condition -- handleNext sets it.
      if (isHandling) return;
      if (deferredEnd === undefined) controller?.resume();
      else deferredEnd();
    };
    const endWhenHandled = (how: () => void): void => {
      if (isHandling && !settled) deferredEnd = how;
      else how();
    };

    if (signal?.aborted === true) {
      stop(abortReason(signal));
      return;
    }
    signal?.addEventListener("abort", onAbort, { once: true });

    dispatcher.dispatch(
      {
        origin: request.origin,
        path: request.path,
        method: request.method,
        headers: request.headers,
        body: request.body ?? null,
        ...(timeoutMs === undefined && { headersTimeout: 0, bodyTimeout: 0 }),
        ...(request.isEndless === true && { bodyTimeout: 0 }),
      },
      {
        onRequestStart: (started) => {
          controller = started;
          if (stopped !== undefined) started.abort(stopped);
        },
        onResponseStart: (_controller, statusCode, received) => {
          if (statusCode < 200) return;
          status = statusCode;
          headers = received;
          const encoding = single(headers["content-encoding"]);
          if (encoding !== undefined && encoding !== "" && encoding !== "identity") {
            stop(new AnswerRefused("encoded", "compressed although identity was asked for"));
          } else if (status < 300 && mediaType(headers) === "text/event-stream" && request.onEvent !== undefined) {
            events = createEventStreamReader();
            if (request.isEndless === true) clearTimeout(timer);
            request.onStream?.();
          }
        },
        onResponseData: (_controller, chunk) => {
          size += chunk.length;
          if (size > MAX_ANSWER_BYTES) {
            stop(new AnswerRefused("too_large", "more than 5 MiB"));
            return;
          }
          if (events === undefined) {
            chunks.push(chunk);
            return;
          }
          const complete = events.read(chunk);
          if (request.isEndless === true && complete.length > 0) size = 0;
          pendingEvents.push(...complete);
          if (!isHandling) handleNext();
        },
        onResponseEnd: () =>
          endWhenHandled(() => {
            clearTimeout(timer);
            finish();
          }),
        onResponseError: (_controller, error) =>
          endWhenHandled(() => {
            clearTimeout(timer);
            if (settle()) reject(stopped ?? error);
          }),
      },
    );
  });
}

function mediaType(headers: Headers): string {
  return (single(headers["content-type"])?.split(";")[0] ?? "").trim().toLowerCase();
}

function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

function listed(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(", ") : value;
}

function abortReason(signal: AbortSignal | undefined): Error {
  const reason: unknown = signal?.reason;
  return reason instanceof Error ? reason : new Error("The call was aborted.");
}
