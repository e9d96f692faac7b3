import type { ConnectionView } from "../../connections/connection-view.ts";
import { DomainError } from "../../domain-error.ts";
import type { FeatureRequest, FeatureAnswer } from "../../integrations/features.ts";
import type { Catalog } from "../../integrations/integration.ts";
import { isJsonObject } from "../../json.ts";
import { InputNeeded } from "../relay/input-needed.ts";
import type { CallSlots } from "../calls/call-slots.ts";
import { type CallTimes, callTimesOf, timeoutText } from "../calls/call-times.ts";
import { pauseWhileAsked } from "../calls/pausing-client.ts";
import { withLinkedController } from "../calls/linked-controller.ts";
import type { DeadlineOutcome, RunningCalls } from "../calls/running-calls.ts";
import { RpcError } from "../../integrations/rpc-error.ts";
import type { FeatureResult, RelayOptions } from "./upstream-features.ts";
import type { Source } from "./upstream-view.ts";

/** Sends read-only requests to upstreams. */
export interface UpstreamRequester {
  /**
   * Throws InputNeeded if the client must answer requests first, RpcError with the upstream's error, DomainError
   * `unavailable` or `exhausted`, or the reason of the signal.
   */
  ask(source: Source, question: FeatureRequest, options: RelayOptions): Promise<FeatureResult>;
}

export interface UpstreamRequesterDeps {
  readonly connections: ConnectionView;
  readonly catalog: Catalog;
  /** Shared with tool calls. */
  readonly slots: CallSlots;
  readonly running: RunningCalls;
  readonly times: CallTimes;
}

/** Applies the limits and slots of calls. The call history does not contain these requests, because they only read. */
export function createUpstreamRequester(deps: UpstreamRequesterDeps): UpstreamRequester {
  const { slots, running } = deps;

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
        options.onSent?.();
        const outcome = await withLinkedController(options.signal, (controller) =>
          running.run(
            controller,
            connection.id,
            callTimesOf(connection, deps.times),
            async (signal, noteProgress, pause) => {
              const { onProgress: passOn } = options;
              const onProgress: RelayOptions["onProgress"] =
                passOn &&
                ((progress) => {
                  noteProgress();
                  return passOn(progress);
                });
              const client = pauseWhileAsked(options.client, pause);
              const target = await deps.connections.target(connection);
              return features.request(target, question, { ...options, onProgress, client, signal });
            },
          ),
        );
        return conclude(outcome, connection);
      } finally {
        slots.release(connection);
      }
    },
  };

  function conclude(outcome: DeadlineOutcome<FeatureAnswer>, connection: Source["connection"]): FeatureResult {
    switch (outcome.kind) {
      case "done":
        return read(outcome.result);
      case "timed_out":
        throw new DomainError(
          "unavailable",
          timeoutText(connection, callTimesOf(connection, deps.times), outcome.limit),
        );
      case "cancelled":
        throw outcome.reason instanceof Error
          ? outcome.reason
          : new DomainError("unavailable", "The request was canceled.", { cause: outcome.reason });
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

/** Renames the URI in the data of an upstream's error. */
export function withClientUri(thrown: unknown, name: (uri: string) => string): unknown {
  if (!(thrown instanceof RpcError) || !isJsonObject(thrown.data) || typeof thrown.data.uri !== "string") return thrown;
  const { code, message, data } = thrown;
  return new RpcError({ code, message, data: { ...data, uri: name(thrown.data.uri) } }, thrown.explanation);
}
