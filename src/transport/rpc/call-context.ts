import { Code, ConnectError, type ContextKey, type ContextValues, type HandlerContext } from "@connectrpc/connect";
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import type { Principal } from "../../identity/principal.ts";
import { exchangeKey } from "./caller.ts";
import type { HttpExchange } from "../http/exchange.ts";
import { principalKey } from "./principal.ts";
import type { Rpc } from "./rpc.ts";

/**
 * The abort reason of a completed call. Shared, because without a reason Node creates an error with a stack each time.
 */
const COMPLETED = new ConnectError("the call is complete", Code.Canceled);

/** The context of a call on our own code paths. Its parts are created on first use. */
export class CallContext implements HandlerContext {
  readonly protocolName: string;
  readonly values: ContextValues;
  /** The version of the returned resource: the time of its last change. REST derives the `ETag` from it. */
  version: Date | undefined;
  /** Lets the call take longer than other requests. */
  stopDeadline: (() => void) | undefined;
  readonly #exchange: HttpExchange;
  readonly #rpc: Rpc;
  readonly #deadline: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #controller: AbortController | undefined;
  #ended: { readonly reason: unknown } | undefined;
  #requestHeader: Headers | undefined;
  #responseHeader: Headers | undefined;
  #responseTrailer: Headers | undefined;

  constructor(
    rpc: Rpc,
    exchange: HttpExchange,
    protocolName: string,
    principal: Principal | undefined,
    timeoutMs?: number,
  ) {
    this.#rpc = rpc;
    this.#exchange = exchange;
    this.protocolName = protocolName;
    this.values = new CallValues(principal, exchange);
    if (timeoutMs !== undefined) {
      this.#deadline = Date.now() + timeoutMs;
      this.#timer = setTimeout(() => {
        this.end(new ConnectError("the operation timed out", Code.DeadlineExceeded));
      }, timeoutMs);
    }
  }

  get method(): DescMethod {
    return this.#rpc.method;
  }

  get service(): DescService {
    return this.#rpc.method.parent;
  }

  get requestMethod(): string {
    return this.#exchange.method;
  }

  get url(): string {
    return this.#exchange.target;
  }

  get signal(): AbortSignal {
    if (this.#controller !== undefined) return this.#controller.signal;
    const controller = new AbortController();
    this.#controller = controller;
    if (this.#ended !== undefined) controller.abort(this.#ended.reason ?? COMPLETED);
    else if (this.#exchange.isOpen)
      this.#exchange.onClose(() => {
        if (this.#ended === undefined) this.end(gone());
      });
    else this.end(gone());
    return controller.signal;
  }

  readonly timeoutMs = (): number | undefined =>
    this.#deadline === undefined ? undefined : this.#deadline - Date.now();

  get requestHeader(): Headers {
    return (this.#requestHeader ??= toHeaders(this.#exchange.rawHeaders));
  }

  /** Returns a header by its lower-case name without creating `requestHeader`. */
  header(name: string): string | null {
    if (this.#requestHeader !== undefined) return this.#requestHeader.get(name);
    const value = this.#exchange.headers[name];
    return Array.isArray(value) ? value.join(", ") : (value ?? null);
  }

  get responseHeader(): Headers {
    return (this.#responseHeader ??= new Headers());
  }

  get responseTrailer(): Headers {
    return (this.#responseTrailer ??= new Headers());
  }

  /** The headers set by the handler. Undefined if it did not access them. */
  get responseHeaderIfSet(): Headers | undefined {
    return this.#responseHeader;
  }

  /** The trailers set by the handler. Undefined if it did not access them. */
  get responseTrailerIfSet(): Headers | undefined {
    return this.#responseTrailer;
  }

  /** Why the call ended early. Undefined while it runs and after it completed. */
  get endReason(): unknown {
    return this.#ended?.reason;
  }

  /**
   * Ends the call: aborts the signal and stops the deadline timer. The first reason counts; no reason means that the
   * call is complete.
   */
  end(reason?: unknown): void {
    if (this.#ended !== undefined) return;
    this.#ended = { reason };
    clearTimeout(this.#timer);
    this.#controller?.abort(reason ?? COMPLETED);
  }
}

/** Context values with fields for the principal and the exchange, because most calls store nothing else. */
class CallValues implements ContextValues {
  #principal: Principal | undefined;
  readonly #exchange: HttpExchange;
  #others: Map<symbol, { readonly value: unknown }> | undefined;

  constructor(principal: Principal | undefined, exchange: HttpExchange) {
    this.#principal = principal;
    this.#exchange = exchange;
  }

  get<T>(key: ContextKey<T>): T {
    const stored = this.#find(key.id);
    return stored === undefined ? key.defaultValue : storedUnder(key, stored);
  }

  #find(id: symbol): unknown {
    if (id === principalKey.id) return this.#principal;
    return id === exchangeKey.id ? this.#exchange : this.#others?.get(id)?.value;
  }

  set<T>(key: ContextKey<T>, value: T): this {
    (this.#others ??= new Map()).set(key.id, { value });
    return this;
  }

  delete(key: ContextKey<unknown>): this {
    if (key.id === principalKey.id) this.#principal = undefined;
    this.#others?.delete(key.id);
    return this;
  }
}

/** A key's symbol is unique, so the value under it has the key's type. */
function storedUnder<T>(_key: ContextKey<T>, value: unknown): T {
  // eslint-disable-next-line @typescript-eslint/no-unsafe-type-assertion -- the one place that may, for the reason above.
  return value as T;
}

function gone(): ConnectError {
  return new ConnectError("the caller disconnected", Code.Canceled);
}

function toHeaders(rawHeaders: readonly string[]): Headers {
  const headers = new Headers();
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? "";
    if (!name.startsWith(":")) headers.append(name, rawHeaders[index + 1] ?? "");
  }
  return headers;
}
