/** Why a body was given up: it grew past its limit, or took longer than it may. */
export class BodyRefused extends Error {
  readonly kind: "too_large" | "timeout" | "encoded";

  constructor(kind: "too_large" | "timeout" | "encoded", message: string) {
    super(message);
    this.name = "BodyRefused";
    this.kind = kind;
  }
}

/** How much of an answer is read: bytes, total milliseconds, and for how long anybody wants it. */
export interface BodyLimits {
  /** 5 MiB unless told. */
  readonly maxBytes?: number;
  /** For the whole body, 30,000 unless told. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** The answer's `content-encoding`: anything but `identity` is refused, since we ask for none and a bomb would be unpacked otherwise. */
  readonly contentEncoding?: string | string[] | undefined;
}

/** A body as undici gives it: chunks, and a way to hang up. */
export interface IncomingBody extends AsyncIterable<Uint8Array> {
  destroy(error?: Error): unknown;
}

/**
 * Reads a whole body into memory, within limits, and hangs up past them.
 *
 * Throws BodyRefused, the signal's reason, or what broke the connection.
 */
export async function readBody(body: IncomingBody, limits: BodyLimits = {}): Promise<Buffer> {
  const maxBytes = limits.maxBytes ?? 5 * 1024 * 1024;
  const timeoutMs = limits.timeoutMs ?? 30_000;
  const { signal } = limits;
  const encoding = limits.contentEncoding;
  let given: Error | undefined;
  const giveUp = (reason: Error): void => {
    given ??= reason;
    body.destroy(given);
  };
  const onAbort = (): void => giveUp(asError(signal?.reason));
  const timer = setTimeout(
    () => giveUp(new BodyRefused("timeout", `The answer took longer than ${timeoutMs / 1000} s.`)),
    timeoutMs,
  );
  signal?.addEventListener("abort", onAbort, { once: true });
  try {
    if (signal?.aborted === true) throw asError(signal.reason);
    if (encoding !== undefined && encoding !== "identity") {
      throw new BodyRefused("encoded", "The answer is compressed although none was asked for.");
    }
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of body) {
      size += chunk.byteLength;
      if (size > maxBytes) throw new BodyRefused("too_large", `The answer is larger than ${maxBytes} bytes.`);
      chunks.push(chunk);
    }
    if (given !== undefined) throw given;
    return Buffer.concat(chunks, size);
  } catch (error) {
    const reason = given ?? asError(error);
    giveUp(reason);
    throw reason;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
  }
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
