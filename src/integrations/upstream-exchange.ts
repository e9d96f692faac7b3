import type { Dispatcher } from "undici";

export interface UpstreamRequest {
  readonly method: string;
  readonly origin: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer | undefined;
}

export interface UpstreamAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export type ExchangeFailure =
  /** `status`: the status of the answer, if it had started. */
  | { readonly kind: "too_large"; readonly status?: number }
  | { readonly kind: "timeout" }
  /** `afterStart`: the answer had started. */
  | { readonly kind: "broken"; readonly error: Error; readonly afterStart: boolean };

export type UpstreamOutcome = { readonly answer: UpstreamAnswer } | { readonly failure: ExchangeFailure };

export interface ExchangeLimits {
  readonly maxBytes: number;
  /** The time from the first byte sent to the last byte received. Undefined if only the signal ends the exchange. */
  readonly timeoutMs: number | undefined;
}

/**
 * Sends a request and reads its whole answer. Uses `dispatch` directly, because a stream and an abort signal per call
 * cost more CPU than the rest of the call. Throws only the signal's reason.
 */
export function sendToUpstream(
  dispatcher: Dispatcher,
  request: UpstreamRequest,
  limits: ExchangeLimits,
  signal: AbortSignal,
): Promise<UpstreamOutcome> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(reasonOf(signal));
      return;
    }
    let controller: Dispatcher.DispatchController | undefined;
    let isSettled = false;
    let status = 0;
    let headers: Readonly<Record<string, string>> = {};
    const chunks: Buffer[] = [];
    let size = 0;
    const { timeoutMs } = limits;
    const timer =
      timeoutMs === undefined
        ? undefined
        : setTimeout(() => stop(() => resolve({ failure: { kind: "timeout" } })), timeoutMs);
    const onAbort = (): void => stop(() => reject(reasonOf(signal)));
    signal.addEventListener("abort", onAbort, { once: true });

    function settle(finish: () => void): void {
      if (isSettled) return;
      isSettled = true;
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      finish();
    }
    function stop(finish: () => void): void {
      settle(finish);
      controller?.abort(new Error("no longer wanted"));
    }
    function broken(error: Error): void {
      settle(() => resolve({ failure: { kind: "broken", error, afterStart: status !== 0 } }));
    }

    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(started) {
        controller = started;
        if (isSettled) started.abort(new Error("no longer wanted"));
      },
      onResponseStart(_controller, code, received) {
        // A 1xx answer precedes the final one.
        if (code < 200) return;
        status = code;
        headers = flatHeaders(received);
        if (Number(headers["content-length"]) > limits.maxBytes && request.method !== "HEAD")
          stop(() => resolve({ failure: { kind: "too_large", status } }));
      },
      onResponseData(_controller, chunk) {
        size += chunk.length;
        if (size > limits.maxBytes) stop(() => resolve({ failure: { kind: "too_large", status } }));
        else chunks.push(chunk);
      },
      onResponseEnd() {
        settle(() => resolve({ answer: { status, headers, body: joined(chunks) } }));
      },
      onResponseError(_controller, error) {
        broken(error);
      },
    };
    try {
      dispatcher.dispatch(
        {
          origin: request.origin,
          path: request.path,
          method: request.method,
          headers: request.headers,
          body: request.body ?? null,
          headersTimeout: timeoutMs ?? 0,
          bodyTimeout: timeoutMs ?? 0,
        },
        handler,
      );
    } catch (error) {
      broken(error instanceof Error ? error : new Error(String(error)));
    }
  });
}

function joined(chunks: readonly Buffer[]): Buffer {
  const [first] = chunks;
  if (first === undefined) return Buffer.alloc(0);
  return chunks.length === 1 ? first : Buffer.concat(chunks);
}

function reasonOf(signal: AbortSignal): Error {
  const reason: unknown = signal.reason;
  return reason instanceof Error ? reason : new Error("The call was aborted.");
}

function flatHeaders(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined) flat[name.toLowerCase()] = Array.isArray(value) ? value.join(", ") : value;
  return flat;
}
