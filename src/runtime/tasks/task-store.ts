/** Who may use a task. */
export interface TaskOwner {
  readonly accountId: string;
  readonly memberId: string | undefined;
  readonly clientId: string;
  readonly grantId: string | undefined;
}

/** The encrypted part of a task. */
export interface TaskState {
  /** The tool that was called, by the upstream's name. */
  readonly toolName: string;
  /** The upstream's id of the task. */
  readonly upstreamId: string;
  /**
   * The address at which the replica that follows the task receives messages. Undefined if any replica can ask the
   * upstream.
   */
  readonly address: string | undefined;
  /** The task as clients receive it, without `resultType` and with the upstream's own URIs. */
  readonly json: string;
  /** How long the task is kept after its creation, in milliseconds. */
  readonly ttlMs: number;
  /** Whether the task has ended, so that `json` never changes again. */
  readonly hasEnded: boolean;
}

export interface NewTask extends TaskState {
  readonly owner: TaskOwner;
  readonly id: string;
  readonly connectionId: number;
}

export interface StoredTask extends TaskState {
  readonly id: string;
  readonly connectionId: number;
  /** Whether the replica that follows the task has died. */
  readonly isAbandoned: boolean;
}

/**
 * The tasks that clients hold, until their time to live is over or their connection is deleted. Every method throws
 * DomainError `unavailable` when the database cannot be reached.
 */
export interface TaskStore {
  /**
   * Stores a task. Returns `full` if the account holds so many tasks already, `deleted` if the connection is gone.
   */
  add(task: NewTask, limit: number): Promise<"added" | "full" | "deleted">;
  /** Returns undefined for a task that is unknown, has expired or belongs to somebody else. */
  find(owner: TaskOwner, id: string): Promise<StoredTask | undefined>;
  /**
   * Replaces the state, and with it the time that the task is kept. Returns false, and changes nothing, if the task has
   * ended or is gone.
   */
  update(accountId: string, id: string, state: TaskState): Promise<boolean>;
  /** Records that a replica still follows the task. Returns false if the task has ended or is gone. */
  attend(accountId: string, id: string): Promise<boolean>;
}
