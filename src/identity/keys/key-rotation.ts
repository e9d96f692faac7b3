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

/** A signing key without its key material. */
export type SigningKeySummary = Omit<StoredSigningKey, "publicJwk" | "privateJwk">;

export interface RotationTerms {
  /** Rotates even if the next key is not published long enough; verifiers with cached keys may reject new tokens. */
  readonly isForced: boolean;
  /** Rotates only if the current key has signed for longer than this. */
  readonly ifOlderThanSeconds?: number | undefined;
  /** How long the new next key must be published before it may sign. */
  readonly readyInSeconds: number;
}

export type RotationOutcome =
  | { readonly kind: "rotated" }
  /** The current key is not old enough, possibly because another replica rotated. */
  | { readonly kind: "not_due" }
  | { readonly kind: "not_ready"; readonly readyAt: Date };

export interface KeyRotationStore extends SigningKeyStore {
  /**
   * Retires the current key, deletes its private half, makes the next key current and stores `fresh` as the next one.
   * Rotations run one at a time in the installation, each in one transaction.
   */
  rotate(purpose: KeyPurpose, fresh: NewSigningKey, terms: RotationTerms, actor: Actor): Promise<RotationOutcome>;
  /**
   * Deletes keys that retired longer ago, except keys of personal access tokens that may still be active. Returns the
   * deleted ids.
   */
  dropRetired(retiredForSeconds: number): Promise<readonly string[]>;
}

export interface KeyRotation {
  /** Sorted by purpose, then next, current and retired, then newest first. */
  list(): Promise<readonly SigningKeySummary[]>;
  /**
   * Makes the next key current; tokens signed with the old one stay valid. Returns all keys of the purpose. Throws
   * `conflict` if the next key is not published long enough, unless forced.
   */
  rotate(
    request: { readonly purpose: KeyPurpose; readonly isForced: boolean },
    actor: Actor,
  ): Promise<readonly SigningKeySummary[]>;
  /** Creates missing next keys, rotates old access token keys and deletes retired keys. */
  maintain(): Promise<void>;
}

/** Lifetime of an access token in seconds (SPEC «Limits»). */
const ACCESS_TOKEN_SECONDS = 3_600;

/** A replica without notifications may sign with the previous key for this long; it reloads keys every minute. */
const RELOAD_LAG_SECONDS = 600;

/** Seconds for which a retired key verifies: until its last token expired and caches are refreshed. */
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

/** Rotates access token keys automatically after `rotateAfterDays`. */
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
