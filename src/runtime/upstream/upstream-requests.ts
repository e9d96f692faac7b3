import type { ConnectionView } from "../../connections/connection-view.ts";
import { DomainError } from "../../domain-error.ts";
import type { FeatureRequest, FeatureAnswer } from "../../integrations/features.ts";
import type { Catalog } from "../../integrations/integration.ts";
import type { JsonObject } from "../../json.ts";
import { createTimeLimit } from "../../time-limit.ts";
import { CALL_TIMEOUT_MS } from "../calls/call-tool.ts";
import { InputNeeded } from "../relay/input-needed.ts";
import type { CallSlots } from "../calls/call-slots.ts";
import { withLinkedController, withDeadline, type DeadlineOutcome } from "../calls/deadline.ts";
import { RpcError } from "../../integrations/rpc-error.ts";
import type { RelayOptions } from "./upstream-features.ts";
import type { Source } from "./upstream-view.ts";

/** Used up to 2025-11-25; later revisions have no code for it. */
const RESOURCE_NOT_FOUND = -32002;

/** Sends read-only requests to upstreams. */
export interface UpstreamRequester {
  /** Throws InputNeeded if the client must answer requests first. Throws RpcError with the upstream's error, `not_found`, `unavailable`, `exhausted` or the reason of the signal. */
  ask(source: Source, question: FeatureRequest, options: RelayOptions): Promise<JsonObject>;
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
        return conclude(outcome, question, connection.name, options.signal);
      } finally {
        slots.release(connection);
      }
    },
  };

  function conclude(
    outcome: DeadlineOutcome<FeatureAnswer>,
    question: FeatureRequest,
    name: string,
    signal: AbortSignal,
  ): JsonObject {
    switch (outcome.kind) {
      case "done":
        return read(outcome.result, question);
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

function read(answer: FeatureAnswer, { method }: FeatureRequest): JsonObject {
  if (answer.kind === "result") return answer.result;
  if (answer.kind === "input_required") throw new InputNeeded(answer.required);
  const { code, message, data } = answer;
  if (method === "resources/read" && code === RESOURCE_NOT_FOUND) throw new DomainError("not_found", message);
  throw new RpcError({ code, message, data });
}
