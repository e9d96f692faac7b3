import pg from "pg";
import { isSilence } from "../storage-error.ts";

/** Time limit for closing a connection in order, in milliseconds. */
const GOODBYE_MS = 2_000;

/** A connection whose closing never hangs. It is closed immediately if a statement got no response. */
export class BoundedClient extends pg.Client {
  /** Called when a statement got no response in time. */
  onSilence: () => void = () => undefined;

  constructor(config?: pg.ClientConfig) {
    super(config);
    const query: unknown = this.query.bind(this);
    if (typeof query !== "function") throw new TypeError("the driver's client has no query");
    // A property, because the overloads of the driver's method cannot be repeated here.
    Object.defineProperty(this, "query", {
      value: (statement: unknown, ...rest: readonly unknown[]): unknown => {
        const result: unknown = Reflect.apply(query, this, [this.prepare(statement), ...rest]);
        return result instanceof Promise ? result.catch((error: unknown) => this.#fail(error)) : result;
      },
    });
  }

  /** Closes the socket at once. Running statements fail, and a pool discards the connection. */
  destroy(): void {
    this.connection.emit("error", new Error("Connection terminated: another statement got no response"));
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

/**
 * A connection without named prepared statements, because its next transaction may run in another session of the
 * server.
 */
export class UnnamedClient extends BoundedClient {
  protected override prepare(statement: unknown): unknown {
    return withoutName(statement);
  }
}

function withoutName(statement: unknown): unknown {
  const isConfig = typeof statement === "object" && statement !== null && !("submit" in statement);
  return isConfig ? { ...statement, name: undefined } : statement;
}
