import { type CryptoKey, exportJWK, generateKeyPair, importJWK, type JWK } from "jose";
import { randomId } from "./random.ts";

/** What a signing key is for. A PAT never ends, so its key never can be dropped: the two purposes share no key. */
export type KeyPurpose = "access_token" | "personal_access_token";

/** A stored signing key, with its private half opened. */
export interface StoredSigningKey {
  /** The `kid`. */
  readonly id: string;
  readonly purpose: KeyPurpose;
  /** `next` is published but does not sign yet; `retired` still verifies. */
  readonly state: "next" | "current" | "retired";
  readonly publicJwk: JWK;
  readonly privateJwk: JWK;
}

/** Where signing keys are kept, sealed. */
export interface SigningKeyStore {
  list(): Promise<readonly StoredSigningKey[]>;
  /** Adds a current key unless the purpose has one, so that replicas that start together agree on one. */
  insertFirst(key: StoredSigningKey): Promise<void>;
}

/** A key that verifies tokens of one purpose. */
export interface VerificationKey {
  readonly purpose: KeyPurpose;
  readonly publicKey: CryptoKey | Uint8Array;
}

/** The installation's keys, in memory. */
export interface SigningKeys {
  /** The key that signs for a purpose. */
  current(purpose: KeyPurpose): StoredSigningKey;
  /** The key of a `kid`; undefined for keys that are not ours. */
  verificationKey(kid: string): VerificationKey | undefined;
  /** The document at `/.well-known/jwks.json`. */
  publicKeys(): { readonly keys: readonly JWK[] };
}

const PURPOSES: readonly KeyPurpose[] = ["access_token", "personal_access_token"];

async function generate(purpose: KeyPurpose): Promise<StoredSigningKey> {
  const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true });
  const id = randomId(purpose === "access_token" ? "at_" : "pat_");
  const named = { kid: id, use: "sig", alg: "ES256" };
  return {
    id,
    purpose,
    state: "current",
    publicJwk: { ...(await exportJWK(publicKey)), ...named },
    privateJwk: { ...(await exportJWK(privateKey)), ...named },
  };
}

/** Reads the keys, making the first one of each purpose on the very first start. */
export async function loadSigningKeys(store: SigningKeyStore): Promise<SigningKeys> {
  let stored = await store.list();
  for (const purpose of PURPOSES) {
    if (!stored.some((key) => key.purpose === purpose && key.state === "current")) {
      await store.insertFirst(await generate(purpose));
      stored = await store.list();
    }
  }
  const byId = new Map<string, VerificationKey>();
  for (const key of stored) {
    byId.set(key.id, { purpose: key.purpose, publicKey: await importJWK(key.publicJwk, "ES256") });
  }
  return {
    current(purpose) {
      const key = stored.find((candidate) => candidate.purpose === purpose && candidate.state === "current");
      if (key === undefined) throw new Error(`no current signing key for ${purpose}`);
      return key;
    },
    verificationKey: (kid) => byId.get(kid),
    publicKeys: () => ({ keys: stored.map((key) => key.publicJwk) }),
  };
}
