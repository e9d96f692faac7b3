import type { PersonalAccessTokenStore } from "./personal-access-token.ts";

/** Remembers which tokens were used and writes it down now and then, off the request path. */
export interface LastUse {
  note(accountId: string, id: string): void;
  /** Writes what is still to be written. */
  close(): Promise<void>;
}

/** How long a use waits to be written together with others. */
const FLUSH_MS = 5_000;

/** More than this at once are not remembered: a last use is good to know, and no more. */
const MAX_NOTED = 10_000;

/** Last uses over a store, which leaves those alone that it noted within five minutes. */
export function createLastUse(deps: {
  readonly store: Pick<PersonalAccessTokenStore, "touch">;
  readonly onError: (error: unknown) => void;
  readonly flushMs?: number;
}): LastUse {
  let noted = new Map<string, string>();
  let timer: NodeJS.Timeout | undefined;

  async function flush(): Promise<void> {
    timer = undefined;
    const used = [...noted].map(([id, accountId]) => ({ accountId, id }));
    noted = new Map();
    try {
      if (used.length > 0) await deps.store.touch(used);
    } catch (error) {
      deps.onError(error);
    }
  }

  return {
    note(accountId, id) {
      if (noted.size >= MAX_NOTED) return;
      noted.set(id, accountId);
      timer ??= setTimeout(() => void flush(), deps.flushMs ?? FLUSH_MS).unref();
    },
    async close() {
      clearTimeout(timer);
      await flush();
    },
  };
}
