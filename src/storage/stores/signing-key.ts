import type { JWK } from "jose";
import type pg from "pg";
import type { KeyPurpose, SigningKeyStore, StoredSigningKey } from "../../auth/signing-keys.ts";
import { isJsonObject } from "../../json.ts";
import type { Sealer } from "../sealing.ts";
import { runStatement } from "./run-statement.ts";

interface KeyRow {
  id: string;
  purpose: KeyPurpose;
  state: StoredSigningKey["state"];
  public_jwk: JWK;
  sealed_private_jwk: Buffer;
}

/** Signing keys belong to the installation, so the place of the seal names no account. */
function placeOf(id: string): { table: string; column: string; accountId: string; rowId: string } {
  return { table: "signing_key", column: "sealed_private_jwk", accountId: "", rowId: id };
}

function parseJwk(text: string): JWK {
  const jwk: unknown = JSON.parse(text);
  if (!isJsonObject(jwk)) throw new Error("a sealed signing key is not a JWK");
  return jwk;
}

/** Signing keys in PostgreSQL, their private halves sealed. */
export function createSigningKeyStore(pool: pg.Pool, sealer: Sealer): SigningKeyStore {
  return {
    async list() {
      const text = "select id, purpose, state, public_jwk, sealed_private_jwk from signing_key order by created_at, id";
      const { rows } = await runStatement<KeyRow>(pool, { name: "signing_key_list", text, values: [] });
      return rows.map((row) => ({
        id: row.id,
        purpose: row.purpose,
        state: row.state,
        publicJwk: row.public_jwk,
        privateJwk: parseJwk(sealer.open(row.sealed_private_jwk, placeOf(row.id))),
      }));
    },
    async insertFirst({ id, purpose, publicJwk, privateJwk }) {
      const text = `insert into signing_key (id, purpose, state, public_jwk, sealed_private_jwk) values ($1, $2, 'current', $3, $4)
        on conflict (purpose) where state = 'current' do nothing`;
      const sealed = sealer.seal(JSON.stringify(privateJwk), placeOf(id));
      await runStatement(pool, { name: "signing_key_insert_first", text, values: [id, purpose, publicJwk, sealed] });
    },
  };
}
