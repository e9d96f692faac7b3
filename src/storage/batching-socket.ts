import { Socket } from "node:net";

/**
 * A socket that sends what is written to it between a `cork` and the end of the event loop's turn in one system call.
 * PostgreSQL's driver corks each query by itself, so a turn that serves thirty requests would make thirty calls.
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
    // The turn's end does it.
  }
}
