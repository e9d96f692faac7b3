import { DomainError } from "../../domain-error.ts";
import { type Actor, SERVICE } from "../actor.ts";
import {
  ensureSigningKeys,
  generateSigningKey,
  KEYS_CACHE_SECONDS,
  type KeyPurpose,
  type NewSigningKey,
  PUBLISHED_AHEAD_SECONDS,
  type SigningKeys,
  type SigningKeyStore,
  type StoredSigningKey,
} from "./signing-keys.ts";

/** A signing key without its private half, for who runs the installation. */
export type SigningKeySummary = Omit<StoredSigningKey, "publicJwk" | "privateJwk">;

/** When a rotation is to happen. */
export interface RotationTerms {
  /** Also when the next key has not been published for long enough: who cached the published keys may refuse new tokens. */
  readonly isForced: boolean;
  /** Only when the current key has signed for longer. */
  readonly ifOlderThanSeconds?: number | undefined;
  /** How long the new next key is to be published before it may sign. */
  readonly readyInSeconds: number;
}

/** How a rotation ended. */
export type RotationOutcome =
  | { readonly kind: "rotated" }
  /** The current key is not old enough; somebody else may just have rotated. */
  | { readonly kind: "not_due" }
  | { readonly kind: "not_ready"; readonly readyAt: Date };

/** The store of keys, as far as rotation changes it. */
export interface KeyRotationStore extends SigningKeyStore {
  /**
   * In one transaction, one at a time in the whole installation: current retires and loses its private half, next begins
   * to sign, `fresh` becomes next.
   */
  rotate(purpose: KeyPurpose, fresh: NewSigningKey, terms: RotationTerms, actor: Actor): Promise<RotationOutcome>;
  /** Drops what retired longer ago, but no key of a personal access token that may still be in use. The ids dropped. */
  dropRetired(retiredForSeconds: number): Promise<readonly string[]>;
}

/** The use cases of signing keys. */
export interface KeyRotation {
  /** Newest first within a purpose: next, current, then those retired. */
  list(): Promise<readonly SigningKeySummary[]>;
  /**
   * Signs with the next key from now on; what the old one signed stays valid. Gives all keys of the purpose.
   * Fails with `conflict` while the next key has not been published for long enough, unless it is forced.
   */
  rotate(
    request: { readonly purpose: KeyPurpose; readonly isForced: boolean },
    actor: Actor,
  ): Promise<readonly SigningKeySummary[]>;
  /** What is due by itself: a missing next key, the rotation of an old key for access tokens, the end of retired ones. */
  maintain(): Promise<void>;
}

/** Seconds that an access token lives (SPEC «Limits»). */
const ACCESS_TOKEN_SECONDS = 3_600;

/** A replica without a listener may go on signing with the key that was current; it reads the keys again every minute. */
const RELOAD_LAG_SECONDS = 600;

/** How long a retired key still verifies, in seconds: until the last token it signed has ended, and caches have passed. */
export const RETIRED_SECONDS = ACCESS_TOKEN_SECONDS + KEYS_CACHE_SECONDS + RELOAD_LAG_SECONDS;

const ORDER: readonly StoredSigningKey["state"][] = ["next", "current", "retired"];

function summarize(keys: readonly StoredSigningKey[]): readonly SigningKeySummary[] {
  return keys
    .map(({ id, purpose, state, createdAt, readyAt, currentSince, retiredAt }) => ({
      id,
      purpose,
      state,
      createdAt,
      readyAt,
      currentSince,
      retiredAt,
    }))
    .toSorted(
      (a, b) =>
        a.purpose.localeCompare(b.purpose) ||
        ORDER.indexOf(a.state) - ORDER.indexOf(b.state) ||
        b.createdAt.getTime() - a.createdAt.getTime(),
    );
}

/** Rotates the keys of an installation; those for access tokens by themselves after `rotateAfterDays`. */
export function createKeyRotation(deps: {
  readonly store: KeyRotationStore;
  readonly keys: Pick<SigningKeys, "list" | "reload">;
  readonly rotateAfterDays: number;
}): KeyRotation {
  const { store, keys } = deps;
  const rotateAfterSeconds = deps.rotateAfterDays * 86_400;

  async function list(): Promise<readonly SigningKeySummary[]> {
    await keys.reload();
    return summarize(keys.list());
  }

  return {
    list,
    async rotate({ purpose, isForced }, actor) {
      const terms = { isForced, readyInSeconds: PUBLISHED_AHEAD_SECONDS };
      const outcome = await store.rotate(purpose, await generateSigningKey(purpose), terms, actor);
      if (outcome.kind === "not_ready") {
        throw new DomainError(
          "conflict",
          `The next key has not been published for long enough; it may sign from ${outcome.readyAt.toISOString()}.`,
        );
      }
      return (await list()).filter((key) => key.purpose === purpose);
    },
    async maintain() {
      await keys.reload();
      if (await ensureSigningKeys(store, keys.list())) await keys.reload();
      const bound = Date.now() - rotateAfterSeconds * 1_000;
      for (const { purpose, state, currentSince } of keys.list()) {
        if (purpose !== "access_token" || state !== "current" || (currentSince?.getTime() ?? 0) > bound) continue;
        const terms = {
          isForced: false,
          ifOlderThanSeconds: rotateAfterSeconds,
          readyInSeconds: PUBLISHED_AHEAD_SECONDS,
        };
        await store.rotate(purpose, await generateSigningKey(purpose), terms, SERVICE);
      }
      await store.dropRetired(RETIRED_SECONDS);
    },
  };
}
