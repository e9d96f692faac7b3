import { type CryptoKey, exportJWK, generateKeyPair, importJWK, type JWK } from "jose";
import { DomainError } from "../../domain-error.ts";
import { randomId } from "../random.ts";

/** The purposes have separate keys because a personal access token may never expire, and its key must stay as long. */
export type KeyPurpose = "access_token" | "personal_access_token";

/** Each purpose has a current and a next key. */
export const KEY_PURPOSES: readonly KeyPurpose[] = ["access_token", "personal_access_token"];

/** A key pair before it is stored. */
export interface NewSigningKey {
  readonly id: string;
  readonly purpose: KeyPurpose;
  readonly publicJwk: JWK;
  readonly privateJwk: JWK;
}

/** A stored signing key with its decrypted private half. */
export interface StoredSigningKey {
  readonly id: string;
  readonly purpose: KeyPurpose;
  /** `next` is published but does not sign yet; `retired` still verifies. */
  readonly state: "next" | "current" | "retired";
  readonly publicJwk: JWK;
  /** Undefined for a retired key, which only verifies. */
  readonly privateJwk: JWK | undefined;
  readonly createdAt: Date;
  /** The earliest instant at which the key may sign: caches of the published keys include it then. */
  readonly readyAt: Date;
  /** When it became current; undefined for `next`. */
  readonly currentSince: Date | undefined;
  /** When it retired; undefined otherwise. */
  readonly retiredAt: Date | undefined;
}

/** Stores encrypted signing keys and notifies `SIGNING_KEY_CHANNEL` of every change in its transaction. */
export interface SigningKeyStore {
  list(): Promise<readonly StoredSigningKey[]>;
  /** Adds a current and a next key unless the purpose has one, for replicas that start at the same time. */
  insertFirst(current: NewSigningKey, next: NewSigningKey): Promise<void>;
  /** Adds a next key that may sign after the given time, unless the purpose has one. */
  insertNext(next: NewSigningKey, readyInSeconds: number): Promise<void>;
}

export interface VerificationKey {
  readonly purpose: KeyPurpose;
  readonly publicKey: CryptoKey | Uint8Array;
}

export interface SigningKeyListener {
  listen(channel: string, hear: (payload: string) => void): Promise<void>;
  onReconnect(resume: () => Promise<void>): void;
}

/** The installation's keys in memory. They change while the service runs, so callers must not keep them. */
export interface SigningKeys {
  current(purpose: KeyPurpose): NewSigningKey;
  /** Returns undefined for an unknown `kid`. */
  verificationKey(kid: string): VerificationKey | undefined;
  /**
   * Like `verificationKey`, but reloads the keys for an unknown `kid`, at most once a second. Throws `unavailable` if
   * the keys cannot be read.
   */
  findVerificationKey(kid: string): Promise<VerificationKey | undefined>;
  publicKeys(): { readonly keys: readonly JWK[] };
  list(): readonly StoredSigningKey[];
  reload(): Promise<void>;
  /** Reloads the keys on every change and every reconnect of the listener. */
  follow(listener: SigningKeyListener): Promise<void>;
}

/** Notified of every key change inside its transaction. */
export const SIGNING_KEY_CHANNEL = "patchbay_signing_key";

/** The `max-age` of `/.well-known/jwks.json`, in seconds. */
export const KEYS_CACHE_SECONDS = 600;

/** Seconds for which a key is published before it signs: the cache time plus a minute for slow replicas and clocks. */
export const PUBLISHED_AHEAD_SECONDS = KEYS_CACHE_SECONDS + 60;

/** The shortest time between two reloads for an unknown `kid`, in milliseconds. */
const UNKNOWN_KID_RELOAD_MS = 1_000;

/** The format of this service's `kid`; others need no reload. */
const KID_PATTERN = /^(at|pat)_[A-Za-z0-9_-]{22}$/;

/** Pauses before a failed reload after a change is retried, in milliseconds. */
const RETRY_MS = [100, 500, 2_000];

export async function generateSigningKey(purpose: KeyPurpose): Promise<NewSigningKey> {
  const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true });
  const id = randomId(purpose === "access_token" ? "at_" : "pat_");
  const named = { kid: id, use: "sig", alg: "ES256" };
  return {
    id,
    purpose,
    publicJwk: { ...(await exportJWK(publicKey)), ...named },
    privateJwk: { ...(await exportJWK(privateKey)), ...named },
  };
}

/** Creates missing keys: both on the first start, a next one after an upgrade. Returns whether it created any. */
export async function ensureSigningKeys(
  store: Pick<SigningKeyStore, "insertFirst" | "insertNext">,
  stored: readonly StoredSigningKey[],
): Promise<boolean> {
  let isChanged = false;
  for (const purpose of KEY_PURPOSES) {
    const has = (state: StoredSigningKey["state"]): boolean =>
      stored.some((key) => key.purpose === purpose && key.state === state);
    if (has("current") && has("next")) continue;
    isChanged = true;
    if (has("current")) await store.insertNext(await generateSigningKey(purpose), PUBLISHED_AHEAD_SECONDS);
    else await store.insertFirst(await generateSigningKey(purpose), await generateSigningKey(purpose));
  }
  return isChanged;
}

interface KeySet {
  readonly stored: readonly StoredSigningKey[];
  readonly verifying: ReadonlyMap<string, VerificationKey>;
  readonly signing: ReadonlyMap<KeyPurpose, NewSigningKey>;
}

async function toKeySet(stored: readonly StoredSigningKey[]): Promise<KeySet> {
  const verifying = new Map<string, VerificationKey>();
  const signing = new Map<KeyPurpose, NewSigningKey>();
  for (const { id, purpose, state, publicJwk, privateJwk } of stored) {
    verifying.set(id, { purpose, publicKey: await importJWK(publicJwk, "ES256") });
    if (state === "current" && privateJwk !== undefined) signing.set(purpose, { id, purpose, publicJwk, privateJwk });
  }
  return { stored, verifying, signing };
}

/** Reads the keys and creates missing ones. */
export async function loadSigningKeys(store: SigningKeyStore): Promise<SigningKeys> {
  let keys = await toKeySet(await store.list());
  if (await ensureSigningKeys(store, keys.stored)) keys = await toKeySet(await store.list());
  let newestReading = 0;
  let newestRead = 0;
  let lookedAt = Number.NEGATIVE_INFINITY;
  let looking: Promise<void> | undefined;

  /** If reloads overlap, the one that started last wins. */
  async function reload(): Promise<void> {
    const mine = ++newestReading;
    const fresh = await toKeySet(await store.list());
    if (mine < newestRead) return;
    newestRead = mine;
    keys = fresh;
  }

  /** Stops after the last retry: the listener is then disconnected as well, and its reconnect reloads. */
  function reloadWithRetries(tries = 0): void {
    reload().catch(() => {
      const delay = RETRY_MS[tries];
      if (delay !== undefined) setTimeout(() => reloadWithRetries(tries + 1), delay).unref();
    });
  }

  async function reloadForUnknownKid(): Promise<void> {
    if (looking === undefined && performance.now() - lookedAt < UNKNOWN_KID_RELOAD_MS) return;
    looking ??= reload().finally(() => {
      looking = undefined;
      lookedAt = performance.now();
    });
    try {
      await looking;
    } catch (cause) {
      const options = { cause, retryAfterSeconds: 1 };
      throw new DomainError("unavailable", "The service cannot check tokens at the moment.", options);
    }
  }

  return {
    current(purpose) {
      const key = keys.signing.get(purpose);
      if (key === undefined) throw new Error(`no current signing key for ${purpose}`);
      return key;
    },
    verificationKey: (kid) => keys.verifying.get(kid),
    async findVerificationKey(kid) {
      const known = keys.verifying.get(kid);
      if (known !== undefined || !KID_PATTERN.test(kid)) return known;
      await reloadForUnknownKid();
      return keys.verifying.get(kid);
    },
    publicKeys: () => ({ keys: keys.stored.map((key) => key.publicJwk) }),
    list: () => keys.stored,
    reload,
    async follow(listener) {
      listener.onReconnect(reload);
      await listener.listen(SIGNING_KEY_CHANNEL, () => reloadWithRetries());
    },
  };
}
