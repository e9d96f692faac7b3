import type { PersonalAccessTokenStore } from "./personal-access-token.ts";

/** Collects token uses and writes them in batches, outside the request path. */
export interface LastUse {
  note(accountId: string, id: string): void;
  /** Reads a token for the verifier and notes the use: at most once per minute, token and replica. */
  readonly findUse: PersonalAccessTokenStore["findUse"];
  /** Writes the uses that are still pending. */
  close(): Promise<void>;
}

/** The batching delay in milliseconds. */
const FLUSH_MS = 5_000;

/** Drops uses above this number in one batch, since losing a last-use date is harmless. */
const MAX_NOTED = 10_000;

/** The store skips tokens whose last use was written within five minutes. */
export function createLastUse(deps: {
  readonly store: Pick<PersonalAccessTokenStore, "touch" | "findUse">;
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

  function note(accountId: string, id: string): void {
    if (noted.size >= MAX_NOTED) return;
    noted.set(id, accountId);
    timer ??= setTimeout(() => void flush(), deps.flushMs ?? FLUSH_MS).unref();
  }

  return {
    note,
    async findUse(accountId, id, clientId) {
      const use = await deps.store.findUse(accountId, id, clientId);
      if (use !== undefined) note(accountId, id);
      return use;
    },
    async close() {
      clearTimeout(timer);
      await flush();
    },
  };
}
