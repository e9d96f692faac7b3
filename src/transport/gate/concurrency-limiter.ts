import { DomainError } from "../../domain-error.ts";
import type { AccountActivity } from "./account-activity.ts";

/** The number of concurrent requests, and the limits of the queue. */
export interface ConcurrencyLimits {
  readonly maxInFlight: number;
  /** Maximum number of requests in the queue, of all accounts together. */
  readonly maxWaiting: number;
  /** How long a request may wait before it is refused, in milliseconds. */
  readonly maxWaitMs: number;
}

/**
 * Shares slots between accounts. An account may take another slot while it holds fewer than are free, so one account gets
 * half of the slots, two get a third each, and a new account always finds one. Waiting requests are admitted round-robin by
 * account. When the waiting room is full, the newest request of the longest queue is refused.
 *
 * An account starts a limited number of requests in one turn of the event loop, and only a few while several accounts are
 * active, so that a flood does not delay others by the time it takes to run. While several accounts are active, refusals
 * are sent late, so that a client that repeats a refused request at once does not spend the time of the others.
 */
export interface ConcurrencyLimiter {
  /** Rejects with `unavailable` when the account's next request would be refused; a handler asks before it reads a body. */
  refuseIfFull(account: string): Promise<never> | undefined;
  /**
   * Returns undefined if the request may run now. Otherwise resolves when it gets a slot; rejects with `unavailable` if
   * it gets none in time.
   */
  enter(account: string): Promise<void> | undefined;
  /** Releases the slot. Must be called exactly once after each entry. */
  leave(account: string): void;
}

interface WaitingRequest {
  readonly since: number;
  readonly admit: () => void;
  readonly refuse: (error: DomainError) => void;
}

/** The slots and waiting requests of one account. */
interface Usage {
  inFlight: number;
  /** Requests started in the current turn of the event loop. */
  started: number;
  readonly waiting: WaitingRequest[];
}

/** Maximum number of requests that start in one turn of the event loop. */
interface Pace {
  /** Requests of one account that start without waiting. */
  readonly startsAtOnce: number;
  /** Waiting requests of all accounts that are admitted. */
  readonly admissions: number;
}

/** Used while several accounts are active. */
const SHARED_PACE: Pace = { startsAtOnce: 2, admissions: 4 };
/**
 * Used while one account is active: the first request of a second account then waits a few milliseconds for the turn to
 * end.
 */
const SOLE_PACE: Pace = { startsAtOnce: 32, admissions: 32 };
/** How late a refusal is sent while several accounts are active, in milliseconds. */
const REFUSAL_DELAY_MS = 250;
/** Maximum number of delayed refusals; further ones are sent immediately. */
const MAX_DELAYED_REFUSALS = 2_000;
/** Number of idle accounts whose usage is kept, so that a request need not allocate it again. */
const MAX_USAGES = 10_000;

/** Creates a limiter. Limiters of one replica share `activity`. */
export function createConcurrencyLimiter(limits: ConcurrencyLimits, activity: AccountActivity): ConcurrencyLimiter {
  const usages = new Map<string, Usage>();
  /** The accounts with waiting requests, in the order of their next admission. */
  const queue: Usage[] = [];
  const startedThisTurn: Usage[] = [];
  let inFlight = 0;
  let waiting = 0;
  let delayedRefusals = 0;
  let expiry: NodeJS.Timeout | undefined;
  let turnEnd: NodeJS.Immediate | undefined;

  function usageOf(account: string): Usage {
    const known = usages.get(account);
    if (known !== undefined) return known;
    if (usages.size >= MAX_USAGES) {
      for (const [idle, usage] of usages) {
        if (usage.inFlight === 0 && usage.started === 0 && usage.waiting.length === 0) usages.delete(idle);
      }
    }
    const usage: Usage = { inFlight: 0, started: 0, waiting: [] };
    usages.set(account, usage);
    return usage;
  }

  const pace = (): Pace => (activity.isShared() ? SHARED_PACE : SOLE_PACE);

  const hasShare = (usage: Usage): boolean => usage.inFlight < limits.maxInFlight - inFlight;

  function start(usage: Usage): void {
    inFlight += 1;
    usage.inFlight += 1;
    if (usage.started === 0) startedThisTurn.push(usage);
    usage.started += 1;
    scheduleTurnEnd();
  }

  function scheduleTurnEnd(): void {
    turnEnd ??= setImmediate(() => {
      turnEnd = undefined;
      for (const usage of startedThisTurn) usage.started = 0;
      startedThisTurn.length = 0;
      admitWaiting(pace().admissions);
    });
  }

  function admitWaiting(atMost: number): void {
    let admitted = 0;
    for (let passed = 0; admitted < atMost && passed < queue.length;) {
      const usage = queue.shift();
      if (usage === undefined) return;
      const next = hasShare(usage) ? usage.waiting.shift() : undefined;
      if (usage.waiting.length > 0) queue.push(usage);
      if (next === undefined) {
        passed += 1;
        continue;
      }
      waiting -= 1;
      admitted += 1;
      passed = 0;
      start(usage);
      next.admit();
    }
  }

  function refuse(reject: WaitingRequest["refuse"]): void {
    if (delayedRefusals >= MAX_DELAYED_REFUSALS || !activity.isShared()) {
      reject(OVERLOADED);
      return;
    }
    delayedRefusals += 1;
    setTimeout(() => {
      delayedRefusals -= 1;
      reject(OVERLOADED);
    }, REFUSAL_DELAY_MS);
  }

  /** Removes one waiting request of the account and refuses it. */
  function drop(usage: Usage, request: WaitingRequest | undefined): void {
    if (request === undefined) return;
    waiting -= 1;
    if (usage.waiting.length === 0) queue.splice(queue.indexOf(usage), 1);
    refuse(request.refuse);
  }

  function refuseLate(): void {
    expiry = undefined;
    const bound = performance.now() - limits.maxWaitMs;
    for (const usage of [...queue]) {
      // The event loop was late, not the queue; the next turn admits the request.
      if (hasShare(usage)) continue;
      for (let first = usage.waiting[0]; first !== undefined && first.since <= bound; first = usage.waiting[0]) {
        drop(usage, usage.waiting.shift());
      }
    }
    scheduleExpiry();
  }

  function scheduleExpiry(): void {
    if (expiry !== undefined || queue.length === 0) return;
    const oldest = Math.min(...queue.map((usage) => usage.waiting[0]?.since ?? Infinity));
    expiry = setTimeout(refuseLate, Math.max(1, oldest + limits.maxWaitMs - performance.now()));
  }

  const longest = (): Usage | undefined =>
    queue.reduce<Usage | undefined>(
      (most, usage) => (most !== undefined && most.waiting.length >= usage.waiting.length ? most : usage),
      undefined,
    );

  /** Whether the account's next request must be refused because no other account has a longer queue. */
  function isFull(usage: Usage): boolean {
    if (waiting < limits.maxWaiting) return false;
    return (longest()?.waiting.length ?? 0) <= usage.waiting.length + 1;
  }

  const refused = (): Promise<never> => new Promise((_, reject) => refuse(reject));

  return {
    refuseIfFull: (account) => (waiting >= limits.maxWaiting && isFull(usageOf(account)) ? refused() : undefined),
    enter(account) {
      activity.note(account);
      const usage = usageOf(account);
      const isPaced = usage.started >= pace().startsAtOnce;
      if (usage.waiting.length === 0 && !isPaced && hasShare(usage)) {
        start(usage);
        return undefined;
      }
      if (isFull(usage)) return refused();
      if (waiting >= limits.maxWaiting) {
        const most = longest();
        if (most !== undefined) drop(most, most.waiting.pop());
      }
      return new Promise((admit, reject) => {
        if (usage.waiting.length === 0) queue.push(usage);
        usage.waiting.push({ since: performance.now(), admit, refuse: reject });
        waiting += 1;
        scheduleExpiry();
      });
    },
    leave(account) {
      inFlight -= 1;
      usageOf(account).inFlight -= 1;
      if (waiting > 0) scheduleTurnEnd();
    },
  };
}

/** The error of a refused request. It is shared, because creating an error costs more than refusing a request. */
const OVERLOADED = new DomainError("unavailable", "The service is busy. Try again in a moment.", {
  retryAfterSeconds: 1,
  reason: "OVERLOADED",
});
