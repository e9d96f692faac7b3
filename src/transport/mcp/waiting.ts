import type { Heartbeats } from "../http/heartbeats.ts";
import type { RequestStream } from "./reply.ts";

/** A request that may wait for its upstream. */
export interface WaitingRequest {
  /** Call it when the request begins to wait. */
  readonly onSent: () => void;
  /** Call it when the request is answered. */
  readonly end: () => void;
}

/** Sends heartbeats from when the request begins to wait until it is answered. */
export function createWaitingRequest(heartbeats: Heartbeats, reply: RequestStream, onSent: () => void): WaitingRequest {
  let stop: (() => void) | undefined;
  return {
    onSent() {
      onSent();
      stop ??= heartbeats.start(() => reply.beat());
    },
    end: () => stop?.(),
  };
}
