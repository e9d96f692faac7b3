import pg from "pg";
import { isSilence } from "./storage-error.ts";

/** How long a connection may take to close in order, in milliseconds. */
const GOODBYE_MS = 2_000;

/** A connection that closes even when nothing comes back, and at once when a statement was left without an answer. */
export class BoundedClient extends pg.Client {
  /** Called when a statement got no answer in time. */
  onSilence: () => void = () => undefined;

  constructor(config?: pg.ClientConfig) {
    super(config);
    const query: unknown = this.query.bind(this);
    if (typeof query !== "function") throw new TypeError("the driver's client has no query");
    // A property, since the overloads of the driver's method cannot be repeated here.
    Object.defineProperty(this, "query", {
      value: (statement: unknown, ...rest: readonly unknown[]): unknown => {
        const result: unknown = Reflect.apply(query, this, [this.prepare(statement), ...rest]);
        return result instanceof Promise ? result.catch((error: unknown) => this.#fail(error)) : result;
      },
    });
  }

  /** Closes the socket at once. Running statements fail, and a pool discards the connection. */
  destroy(): void {
    this.connection.emit("error", new Error("Connection terminated: another statement got no answer"));
    this.connection.stream.destroy();
  }

  protected prepare(statement: unknown): unknown {
    return statement;
  }

  #fail(error: unknown): never {
    if (isSilence(error)) {
      this.destroy();
      this.onSilence();
    }
    throw error;
  }

  override end(): Promise<void>;
  override end(callback: (error: Error) => void): void;
  override end(callback?: (error: Error) => void): Promise<void> | undefined {
    const timer = setTimeout(() => {
      this.connection.stream.destroy();
    }, GOODBYE_MS).unref();
    this.once("end", () => {
      clearTimeout(timer);
    });
    if (callback === undefined) return super.end();
    super.end(callback);
    return undefined;
  }
}

/** A connection that prepares no statement under a name: its next transaction may run in another session of the server. */
export class UnnamedClient extends BoundedClient {
  protected override prepare(statement: unknown): unknown {
    return withoutName(statement);
  }
}

function withoutName(statement: unknown): unknown {
  const isConfig = typeof statement === "object" && statement !== null && !("submit" in statement);
  return isConfig ? { ...statement, name: undefined } : statement;
}
