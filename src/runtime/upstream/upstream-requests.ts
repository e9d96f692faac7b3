import type { ConnectionView } from "../../connections/connection-view.ts";
import { DomainError } from "../../domain-error.ts";
import type { FeatureRequest, FeatureAnswer } from "../../integrations/features.ts";
import type { Catalog } from "../../integrations/integration.ts";
import { createTimeLimit } from "../../time-limit.ts";
import { CALL_TIMEOUT_MS } from "../calls/call-tool.ts";
import { InputNeeded } from "../relay/input-needed.ts";
import type { CallSlots } from "../calls/call-slots.ts";
import { withLinkedController, withDeadline, type DeadlineOutcome } from "../calls/deadline.ts";
import { RpcError } from "../../integrations/rpc-error.ts";
import type { FeatureResult, RelayOptions } from "./upstream-features.ts";
import type { Source } from "./upstream-view.ts";

/** Sends read-only requests to upstreams. */
export interface UpstreamRequester {
  /**
   * Throws InputNeeded if the client must answer requests first, RpcError with the upstream's error, `unavailable`,
   * `exhausted` or the reason of the signal.
   */
  ask(source: Source, question: FeatureRequest, options: RelayOptions): Promise<FeatureResult>;
}

export interface UpstreamRequesterDeps {
  readonly connections: ConnectionView;
  readonly catalog: Catalog;
  /** Shared with tool calls. */
  readonly slots: CallSlots;
  readonly timeoutMs?: number;
}

/** Applies a deadline and slots. The call history does not contain these requests, because they only read. */
export function createUpstreamRequester(deps: UpstreamRequesterDeps): UpstreamRequester {
  const timeoutMs = deps.timeoutMs ?? CALL_TIMEOUT_MS;
  const { slots } = deps;
  const deadline = createTimeLimit(timeoutMs);

  return {
    async ask({ connection }, question, options) {
      const features = deps.catalog.get(connection.serverType)?.features;
      if (features === undefined) {
        throw new DomainError(
          "internal",
          `no integration is registered for connections of type ${connection.serverType}.`,
        );
      }
      const refusal = slots.take(connection);
      if (refusal !== undefined) throw new DomainError("exhausted", refusal, { retryAfterSeconds: 1 });
      try {
        const outcome = await withLinkedController(options.signal, (controller) =>
          withDeadline(controller, deadline, async (signal) =>
            features.request(await deps.connections.target(connection), question, { ...options, signal }),
          ),
        );
        return conclude(outcome, connection.name, options.signal);
      } finally {
        slots.release(connection);
      }
    },
  };

  function conclude(outcome: DeadlineOutcome<FeatureAnswer>, name: string, signal: AbortSignal): FeatureResult {
    switch (outcome.kind) {
      case "done":
        return read(outcome.result);
      case "timed_out":
        throw new DomainError(
          "unavailable",
          `The connection "${name}" did not answer within ${timeoutMs / 1000} seconds.`,
        );
      case "cancelled":
        throw signal.reason instanceof Error
          ? signal.reason
          : new DomainError("unavailable", "The request was canceled.", { cause: signal.reason });
      case "failed":
        if (outcome.error instanceof DomainError) throw outcome.error;
        throw new DomainError("internal", "the integration threw an unexpected error.", { cause: outcome.error });
    }
  }
}

function read(answer: FeatureAnswer): FeatureResult {
  if (answer.kind === "input_required") throw new InputNeeded(answer.required);
  if (answer.kind === "error") throw new RpcError(answer);
  return { text: answer.json, ttlMs: answer.ttlMs };
}
