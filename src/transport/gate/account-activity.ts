/** How long an account counts as active after its last request, in milliseconds. */
const ACTIVE_MS = 1_000;

/** Tracks whether only one account is using the replica. */
export interface AccountActivity {
  /** Records a request of the account. */
  note(account: string): void;
  /** Whether requests of more than one account arrived within the last second. */
  isShared(): boolean;
}

/** Stores only the account of the last request: a second account within a second means that the replica is shared. */
export function createAccountActivity(now: () => number = () => performance.now()): AccountActivity {
  let last: string | undefined;
  let sharedUntil = 0;
  return {
    note(account) {
      if (account === last) return;
      if (last !== undefined) sharedUntil = now() + ACTIVE_MS;
      last = account;
    },
    isShared() {
      if (sharedUntil === 0) return false;
      if (now() < sharedUntil) return true;
      sharedUntil = 0;
      return false;
    },
  };
}
