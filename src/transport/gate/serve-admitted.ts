import { Code, ConnectError } from "@connectrpc/connect";
import type { Principal } from "../../identity/principal.ts";
import type { TimeLimit } from "../../time-limit.ts";
import { ConnectionLost, type HttpExchange } from "../http/exchange.ts";
import type { ConcurrencyLimiter } from "./concurrency-limiter.ts";
import type { Access, Gate } from "./gate.ts";

/** The steps before a request is served, shared by all protocol handlers. */
export interface AdmissionDeps {
  readonly gate: Gate;
  readonly timeLimit: TimeLimit;
}

/** A request and how its protocol handler serves it. */
export interface AdmittedRequest {
  readonly access: Access;
  readonly limiter: ConcurrencyLimiter | undefined;
  /** Serves the request. The principal is undefined for a public RPC. A stream stops the deadline. */
  serve(principal: Principal | undefined, stopDeadline: () => void): Promise<void>;
  /** Called last, after success and failure. */
  end?(): void;
  /** Sends an error in the protocol's form. Not called after the caller has disconnected. */
  fail(thrown: unknown): void;
}

/** Admits a request of any protocol in this order: deadline, gate, concurrency limiter, body. Never rejects. */
export async function serveAdmitted(
  { gate, timeLimit }: AdmissionDeps,
  exchange: HttpExchange,
  request: AdmittedRequest,
): Promise<void> {
  const fail = (thrown: unknown): void => {
    if (!(thrown instanceof ConnectionLost) && exchange.isOpen) request.fail(thrown);
  };
  const stopDeadline = timeLimit.start(() => {
    fail(new ConnectError("The request took too long.", Code.DeadlineExceeded));
  });
  try {
    const admitted = gate(request.access, exchange);
    const principal = admitted instanceof Promise ? await admitted : admitted;
    const refusal = request.limiter?.refuseIfFull(principal?.accountId ?? "");
    if (refusal !== undefined) await refusal;
    await request.serve(principal, stopDeadline);
  } catch (thrown) {
    fail(thrown);
  } finally {
    stopDeadline();
    request.end?.();
  }
}

/**
 * Runs work in a slot of the account. `checkWanted` throws if the request was canceled while it waited. Work that starts
 * to wait for an upstream may release the slot early.
 */
export async function inSlot<Result>(
  limiter: ConcurrencyLimiter | undefined,
  account: string,
  checkWanted: () => void,
  work: (release: () => void) => Promise<Result> | Result,
): Promise<Result> {
  const admission = limiter?.enter(account);
  if (admission !== undefined) await admission;
  let isHeld = true;
  const release = (): void => {
    if (isHeld) limiter?.leave(account);
    isHeld = false;
  };
  try {
    if (admission !== undefined) checkWanted();
    return await work(release);
  } finally {
    release();
  }
}
