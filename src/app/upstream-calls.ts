import type { Config } from "../config.ts";
import type { ChangeFeed } from "../connections/change-feed.ts";
import { type CallSlots, createCallSlots } from "../runtime/calls/call-slots.ts";
import type { CallTimes } from "../runtime/calls/call-times.ts";
import { createRunningCalls, type RunningCalls } from "../runtime/calls/running-calls.ts";
import type { Port } from "../transport/http/port.ts";

/** How long ended calls may take to answer before their connections are cut, in milliseconds. */
const CUT_AFTER_MS = 2_000;

/** What all calls of upstreams share. */
export interface UpstreamCalls {
  readonly slots: CallSlots;
  readonly running: RunningCalls;
  readonly times: CallTimes;
}

export function composeUpstreamCalls({ callIdleSeconds, callMaxSeconds }: Config, feed: ChangeFeed): UpstreamCalls {
  const running = createRunningCalls();
  feed.onChange(({ connectionId, event }) => {
    if (event === "deleted") running.endConnection(connectionId);
  });
  return {
    slots: createCallSlots(),
    running,
    times: { idleMs: callIdleSeconds * 1_000, maxMs: callMaxSeconds * 1_000 },
  };
}

/** Waits for running requests for the operator's time, then ends the calls among them. */
export async function drain(port: Port, { running }: UpstreamCalls, { drainSeconds }: Config): Promise<void> {
  const drainMs = drainSeconds * 1_000;
  const stopCalls = setTimeout(() => running.stop(), drainMs);
  await port.close(drainMs + CUT_AFTER_MS);
  clearTimeout(stopCalls);
  // A call whose client went away may still run.
  running.stop();
}
