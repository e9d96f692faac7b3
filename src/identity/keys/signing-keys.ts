import { type CryptoKey, exportJWK, generateKeyPair, importJWK, type JWK } from "jose";
import { DomainError } from "../../domain-error.ts";
import { randomId } from "../random.ts";

/** What a signing key is for. A PAT need not end, so its key stays while any does: the two purposes share no key. */
export type KeyPurpose = "access_token" | "personal_access_token";

/** Every purpose; an installation has a current and a next key for each. */
export const KEY_PURPOSES: readonly KeyPurpose[] = ["access_token", "personal_access_token"];

/** A new key pair that is not stored yet. */
export interface NewSigningKey {
  /** The `kid`. */
  readonly id: string;
  readonly purpose: KeyPurpose;
  readonly publicJwk: JWK;
  readonly privateJwk: JWK;
}

/** A stored signing key, with its private half opened. */
export interface StoredSigningKey {
  /** The `kid`. */
  readonly id: string;
  readonly purpose: KeyPurpose;
  /** `next` is published but does not sign yet; `retired` still verifies. */
  readonly state: "next" | "current" | "retired";
  readonly publicJwk: JWK;
  /** Undefined once the key is retired: what no longer signs need not be able to. */
  readonly privateJwk: JWK | undefined;
  readonly createdAt: Date;
  /** From when it may sign: everybody who caches the published keys has it by then. */
  readonly readyAt: Date;
  /** When it began to sign; undefined for `next`. */
  readonly currentSince: Date | undefined;
  /** When it ended to sign; undefined but for `retired`. */
  readonly retiredAt: Date | undefined;
}

/** Where signing keys are kept, sealed. Every change is announced on `SIGNING_KEY_CHANNEL` inside its transaction. */
export interface SigningKeyStore {
  list(): Promise<readonly StoredSigningKey[]>;
  /** Adds a current and a next key unless the purpose has one, so that replicas that start together agree. */
  insertFirst(current: NewSigningKey, next: NewSigningKey): Promise<void>;
  /** Adds a next key, ready after the given time, unless the purpose has one. */
  insertNext(next: NewSigningKey, readyInSeconds: number): Promise<void>;
}

/** A key that verifies tokens of one purpose. */
export interface VerificationKey {
  readonly purpose: KeyPurpose;
  readonly publicKey: CryptoKey | Uint8Array;
}

/** The part of a database listener that the keys need. */
export interface SigningKeyListener {
  listen(channel: string, hear: (payload: string) => void): Promise<void>;
  onReconnect(resume: () => Promise<void>): void;
}

/** The installation's keys, in memory. They change while the service runs: ask again each time, keep none. */
export interface SigningKeys {
  /** The key that signs for a purpose. */
  current(purpose: KeyPurpose): NewSigningKey;
  /** The key of a `kid`; undefined for keys that are not ours. */
  verificationKey(kid: string): VerificationKey | undefined;
  /**
   * Like `verificationKey`, but reads the keys again before it says that one is not ours: once a second at most, however
   * many ask. Fails with `unavailable` when the keys cannot be read.
   */
  findVerificationKey(kid: string): Promise<VerificationKey | undefined>;
  /** The document at `/.well-known/jwks.json`. */
  publicKeys(): { readonly keys: readonly JWK[] };
  /** All of them, as last read. */
  list(): readonly StoredSigningKey[];
  /** Reads them again. */
  reload(): Promise<void>;
  /** Reads them again whenever one changes, and on every connect of the listener. */
  follow(listener: SigningKeyListener): Promise<void>;
}

/** The channel on which every change of a key is announced inside its transaction. */
export const SIGNING_KEY_CHANNEL = "patchbay_signing_key";

/** How long the published keys may be cached, in seconds: the `max-age` of `/.well-known/jwks.json`. */
export const KEYS_CACHE_SECONDS = 600;

/** How long a key is published before it signs, in seconds: the cache time and a minute for slow replicas and clocks. */
export const PUBLISHED_AHEAD_SECONDS = KEYS_CACHE_SECONDS + 60;

/** At most one reading for a `kid` that nobody knows in this time, in milliseconds. */
const UNKNOWN_KID_RELOAD_MS = 1_000;

/** A `kid` as we make them; for any other nothing need be read. */
const KID_PATTERN = /^(at|pat)_[A-Za-z0-9_-]{22}$/;

/** Pauses before the reading that a change asks for is tried again, in milliseconds. */
const RETRY_MS = [100, 500, 2_000];

/** Makes a key pair for ES256. */
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

/** Makes what a purpose lacks: both keys on the very first start, a next one after an upgrade. */
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

/** What one reading brought. */
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

/** Reads the keys, making what is missing of them. */
export async function loadSigningKeys(store: SigningKeyStore): Promise<SigningKeys> {
  let keys = await toKeySet(await store.list());
  if (await ensureSigningKeys(store, keys.stored)) keys = await toKeySet(await store.list());
  let newestReading = 0;
  let newestRead = 0;
  let lookedAt = Number.NEGATIVE_INFINITY;
  let looking: Promise<void> | undefined;

  /** Of readings that overlap, the one that began last counts. */
  async function reload(): Promise<void> {
    const mine = ++newestReading;
    const fresh = await toKeySet(await store.list());
    if (mine < newestRead) return;
    newestRead = mine;
    keys = fresh;
  }

  /** For as long as the database is away nothing is read here: the listener is then lost as well, and its return reads. */
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
