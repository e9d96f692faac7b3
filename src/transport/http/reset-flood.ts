import { constants, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";

/** How many streams one session may reset within a window before it is closed. */
export interface ResetLimit {
  readonly maxResets: number;
  readonly windowMs: number;
}

/** Closes a session that opens streams only to reset them (CVE-2023-44487): each costs us work and the peer nothing. */
export function guardAgainstResets(session: ServerHttp2Session, limit: ResetLimit): void {
  let windowStart = Date.now();
  let resets = 0;
  session.on("stream", (stream: ServerHttp2Stream) => {
    stream.once("close", () => {
      if (stream.rstCode === constants.NGHTTP2_NO_ERROR || !stream.aborted) return;
      const now = Date.now();
      if (now - windowStart > limit.windowMs) {
        windowStart = now;
        resets = 0;
      }
      resets += 1;
      if (resets <= limit.maxResets || session.destroyed) return;
      session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM);
      session.destroy();
    });
  });
}
