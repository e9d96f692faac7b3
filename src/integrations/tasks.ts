import { isJsonObject, type JsonObject } from "../json.ts";
import type { RelayedClient } from "./relayed-client.ts";

/** The extension for tasks (SEP-2663). */
export const TASKS_EXTENSION = "io.modelcontextprotocol/tasks";

/** What a client must declare to receive tasks. */
export const TASKS_CAPABILITY: JsonObject = { extensions: { [TASKS_EXTENSION]: {} } };

/** A call that an upstream continues after its answer. */
export interface UpstreamTask {
  /** The upstream's own id. */
  readonly id: string;
  /** The task in the form of the extension, without `resultType` and `ttlMs`. */
  readonly json: string;
  /**
   * How long the upstream keeps the task after its creation, in milliseconds. Undefined if it keeps the task forever.
   */
  readonly ttlMs: number | undefined;
  /** Set if only this replica can reach the task, in the upstream session of its call. */
  readonly session?: SessionTask;
}

/** A task of an upstream with sessions. */
export interface SessionTask {
  /**
   * Follows the task in the session that created it and resolves with its last state. `onState` receives states in
   * between. Both are in the form of the extension. Rejects if the session is lost, or with the signal's reason.
   */
  follow(options: {
    readonly ask: RelayedClient["ask"];
    readonly onState: (json: string) => void;
    readonly signal: AbortSignal;
  }): Promise<string>;
  /** Asks the upstream to cancel the task. Rejects if it refuses. */
  cancel(signal: AbortSignal): Promise<void>;
}

/** Whether a client or a server declares the extension. */
export function declaresTasks({ extensions }: JsonObject): boolean {
  return isJsonObject(extensions) && isJsonObject(extensions[TASKS_EXTENSION]);
}

/** Returns capabilities without the extension, for clients of revisions that cannot use it. */
export function withoutTasks(capabilities: JsonObject): JsonObject {
  const { extensions, ...others } = capabilities;
  if (!declaresTasks(capabilities) || !isJsonObject(extensions)) return capabilities;
  const { [TASKS_EXTENSION]: _tasks, ...kept } = extensions;
  return Object.keys(kept).length === 0 ? others : { ...others, extensions: kept };
}
