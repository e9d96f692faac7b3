import { Socket } from "node:net";

/**
 * A socket that sends everything written between `cork` and the end of the event loop's turn in one system call.
 * PostgreSQL's driver corks each query separately, so a turn with thirty requests would make thirty calls.
 */
export class BatchingSocket extends Socket {
  #isBatching = false;

  override cork(): void {
    if (this.#isBatching) return;
    this.#isBatching = true;
    super.cork();
    setImmediate(() => {
      this.#isBatching = false;
      super.uncork();
    });
  }

  override uncork(): void {
    // Uncorked at the end of the turn.
  }
}
