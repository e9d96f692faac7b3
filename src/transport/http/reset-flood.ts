import { constants, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";

/** Maximum number of stream resets per session and window. */
export interface ResetLimit {
  readonly maxResets: number;
  readonly windowMs: number;
}

/**
 * Closes a session that opens streams only to reset them (CVE-2023-44487). A busy session that resets few of many
 * streams, like that of a proxy, stays open. Returns how long the session has had no stream, in milliseconds.
 */
export function guardAgainstResets(session: ServerHttp2Session, limit: ResetLimit): () => number {
  let idleSince = Date.now();
  let windowStart = Date.now();
  let opened = 0;
  let resets = 0;
  let open = 0;
  const onClose = function (this: ServerHttp2Stream): void {
    open -= 1;
    if (open === 0) idleSince = Date.now();
    if (this.rstCode === constants.NGHTTP2_NO_ERROR || !this.aborted) return;
    const now = Date.now();
    if (now - windowStart > limit.windowMs) {
      windowStart = now;
      opened = open;
      resets = 0;
    }
    resets += 1;
    if (resets <= limit.maxResets || resets * 2 < opened || session.destroyed) return;
    session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    session.destroy();
  };
  session.on("stream", (stream: ServerHttp2Stream) => {
    opened += 1;
    open += 1;
    stream.once("close", onClose);
  });
  return () => (open === 0 ? Date.now() - idleSince : 0);
}
