import { DomainError } from "../../domain-error.ts";
import type { Connection } from "../../connections/connection.ts";
import type { ConnectionView } from "../../connections/connection-view.ts";
import type { Catalog, Integration } from "../../integrations/integration.ts";
import type { Target } from "../../integrations/target.ts";
import type { SchemaValidator } from "../../integrations/schema-checks/json-schema.ts";
import { SchemaCheckRefused } from "../../integrations/schema-checks/check-refused.ts";
import type { Relay } from "../../integrations/relay.ts";
import { RpcError } from "../../integrations/rpc-error.ts";
import { errorResult, type CallResult } from "../../integrations/tool.ts";
import { roundNumbers, type JsonObject } from "../../json.ts";
import type { CallHistory } from "./call-history.ts";
import type { ContentsRecorder } from "./contents-recorder.ts";
import type { CallOutcome, CallRecord } from "./call-record.ts";
import type { CallSlots } from "./call-slots.ts";
import { type CallTimes, callTimesOf, timeoutText } from "./call-times.ts";
import type { CircuitBreakers, CallEnding } from "./circuit-breakers.ts";
import { connectionRefusal } from "./connection-refusal.ts";
import { jsonSize } from "./json-size.ts";
import type { DeadlineOutcome, PauseLimits, RunningCalls } from "./running-calls.ts";
import { pauseWhileAsked } from "./pausing-client.ts";
import type { CallableTool } from "../tools/tools-in-view.ts";

/** A call of a resolved tool. */
export interface ToolCall {
  readonly callable: CallableTool;
  readonly args: JsonObject;
  /** The client that the call is made for. */
  readonly clientId: string;
  /** Aborted when the caller cancels or a time limit expires. */
  readonly controller: AbortController;
  /** Called when the call begins to wait for its upstream, which may take an hour. */
  readonly onSent?: (() => void) | undefined;
  /** Receives progress and log messages of the call. */
  readonly relay?: Relay | undefined;
}

/** Sends calls to integrations. */
export interface ToolCaller {
  /** Returns the result for a call that must not be sent, or undefined if it may be sent. */
  refusal(callable: CallableTool, args: JsonObject): CallResult | undefined | Promise<CallResult | undefined>;
  recordRefusal(call: ToolCall, result: CallResult): void;
  /** Sends the call and returns its result. Rejects when the call is canceled and for internal errors. */
  dispatch(call: ToolCall): Promise<CallResult>;
}

export interface ToolCallerDeps {
  readonly connections: ConnectionView;
  readonly catalog: Catalog;
  readonly validator: SchemaValidator;
  readonly history: CallHistory;
  /** Records calls of connections that keep contents. */
  readonly contents: ContentsRecorder;
  readonly circuitBreakers: CircuitBreakers;
  /** Called when an upstream rejects the key of the connection. Must not throw. */
  readonly onRefusedKey: (connection: Connection) => void;
  readonly times: CallTimes;
  /** Shared with everything else that calls upstreams. */
  readonly slots: CallSlots;
  readonly running: RunningCalls;
}

/** Applies limits and slots, and records every call. */
export function createToolCaller(deps: ToolCallerDeps): ToolCaller {
  const { slots, running } = deps;

  function record(call: ToolCall, startedAt: number, outcome: CallOutcome, result: CallResult | undefined): void {
    const { connection, tool } = call.callable;
    const made: CallRecord = {
      accountId: connection.accountId,
      connectionId: connection.id,
      toolName: tool.definition.name,
      clientId: call.clientId,
      startedAt: new Date(startedAt),
      durationMs: Math.max(0, Date.now() - startedAt),
      outcome,
      requestBytes: jsonSize(call.args),
      responseBytes: result === undefined ? 0 : (result.bytes ?? resultSize(result)),
    };
    if (connection.keepContentsDays === 0) deps.history.record(made);
    else deps.contents.record(connection, made, { args: call.args, result });
  }

  function argumentProblem({ connection, tool }: CallableTool, args: JsonObject): Problem | Promise<Problem> {
    const schema = tool.definition.inputSchema;
    const check = (value: JsonObject) => deps.validator.validate(schema, value, connection.accountId);
    const recheck = (problem: Problem): Problem | Promise<Problem> => {
      // The schema check does not accept exact numbers as numbers, so the rounded value is validated too.
      const rounded = problem === undefined ? args : roundNumbers(args);
      return rounded === args ? problem : check(rounded);
    };
    const problem = check(args);
    return problem instanceof Promise ? problem.then(recheck) : recheck(problem);
  }

  function send(
    integration: Integration,
    call: ToolCall,
    signal: AbortSignal,
    noteProgress: () => void,
    pause: PauseLimits,
  ): Promise<CallResult> {
    const { callable, args, relay } = call;
    // Progress extends a call even if its caller does not receive it.
    const onProgress: Relay["onProgress"] = (progress) => {
      noteProgress();
      return relay?.onProgress?.(progress);
    };
    const client = pauseWhileAsked(relay?.client, pause);
    const sendTo = (target: Target): Promise<CallResult> =>
      integration.callTool(target, callable.tool.definition, args, { ...relay, onProgress, client, signal });
    const target = deps.connections.target(callable.connection);
    return target instanceof Promise ? target.then(sendTo) : sendTo(target);
  }

  function conclude(call: ToolCall, startedAt: number, outcome: DeadlineOutcome<CallResult>): CallResult {
    const { connection } = call.callable;
    switch (outcome.kind) {
      case "done":
        record(call, startedAt, outcomeOf(outcome.result), outcome.result);
        if (outcome.result.upstreamFault === "refused_key") deps.onRefusedKey(connection);
        return outcome.result;
      case "timed_out": {
        const result = errorResult(
          `${timeoutText(connection, callTimesOf(connection, deps.times), outcome.limit)} ` +
            "Whether the call took effect is not known; check before you repeat it.",
        );
        record(call, startedAt, "upstream_error", result);
        return result;
      }
      case "cancelled":
        record(call, startedAt, "cancelled", undefined);
        throw callCanceled(outcome.reason);
      case "failed":
        if (outcome.error instanceof RpcError)
          record(call, startedAt, "tool_error", errorResult(outcome.error.explanation));
        else record(call, startedAt, "upstream_error", undefined);
        if (outcome.error instanceof DomainError) throw outcome.error;
        throw new DomainError("internal", "the integration threw an unexpected error.", { cause: outcome.error });
    }
  }

  function refuse(call: ToolCall, reason: string): CallResult {
    const result = errorResult(reason);
    record(call, Date.now(), "refused", result);
    return result;
  }

  return {
    refusal(callable, args) {
      const reason = connectionRefusal(callable.connection);
      if (reason !== undefined) return errorResult(reason);
      const problem = argumentProblem(callable, args);
      return problem instanceof Promise ? problem.then(problemResult, checkRefusedResult) : problemResult(problem);
    },

    recordRefusal(call, result) {
      record(call, Date.now(), "refused", result);
    },

    async dispatch(call) {
      const { connection } = call.callable;
      const integration = deps.catalog.get(connection.serverType);
      if (integration === undefined) {
        throw new DomainError(
          "internal",
          `no integration is registered for connections of type ${connection.serverType}.`,
        );
      }
      const refusal = slots.take(connection);
      if (refusal !== undefined) return refuse(call, refusal);
      const admission = deps.circuitBreakers.admit(connection);
      let callEnding: CallEnding = "unknown";
      try {
        if (admission.kind === "open") return refuse(call, circuitRefusal(connection.name, admission.nextAttemptAt));
        const startedAt = Date.now();
        call.onSent?.();
        const outcome = await running.run(
          call.controller,
          connection.id,
          callTimesOf(connection, deps.times),
          (signal, noteProgress, pause) => send(integration, call, signal, noteProgress, pause),
        );
        callEnding = callEndingOf(outcome);
        return conclude(call, startedAt, outcome);
      } finally {
        slots.release(connection);
        if (admission.kind !== "open") deps.circuitBreakers.ended(connection, admission, callEnding);
      }
    },
  };
}

type Problem = string | undefined;

function problemResult(problem: Problem): CallResult | undefined {
  return problem === undefined ? undefined : errorResult(`The arguments do not fit the tool's schema. ${problem}`);
}

function checkRefusedResult(error: unknown): CallResult {
  if (error instanceof SchemaCheckRefused) return errorResult(error.message);
  throw error;
}

/** Cancellations and internal errors say nothing about the upstream. */
function callEndingOf(outcome: DeadlineOutcome<CallResult>): CallEnding {
  if (outcome.kind === "timed_out") return "failed";
  if (outcome.kind === "failed" && outcome.error instanceof RpcError) return "answered";
  if (outcome.kind !== "done" || outcome.result.upstreamFault === "held_back") return "unknown";
  return outcome.result.upstreamFault === "down" ? "failed" : "answered";
}

function circuitRefusal(name: string, nextAttemptAt: Date): string {
  return (
    `The connection "${name}" is paused because its upstream failed several calls in a row. ` +
    `Nothing was sent. Try again after ${nextAttemptAt.toISOString()}.`
  );
}

function outcomeOf({ isError, upstreamFault }: CallResult): CallOutcome {
  if (!isError) return "ok";
  if (upstreamFault === "held_back") return "refused";
  return upstreamFault === undefined ? "tool_error" : "upstream_error";
}

function resultSize({ content, structuredContent }: CallResult): number {
  const blocks = content.reduce((sum, block) => sum + jsonSize(block) + 1, 2);
  return structuredContent === undefined ? blocks : blocks + jsonSize(structuredContent);
}

/** Returns the caller's own reason if it is an error, so that each protocol handler can report it. */
function callCanceled(reason: unknown): Error {
  return reason instanceof Error ? reason : new DomainError("unavailable", "The call was canceled.", { cause: reason });
}
