import type { JWK } from "jose";
import type pg from "pg";
import { INSTALLATION_LOG } from "../../../identity/audit/audit-event.ts";
import type { KeyRotationStore, RotationOutcome } from "../../../identity/keys/key-rotation.ts";
import {
  type KeyPurpose,
  type NewSigningKey,
  SIGNING_KEY_CHANNEL,
  type StoredSigningKey,
} from "../../../identity/keys/signing-keys.ts";
import { isJsonObject } from "../../../json.ts";
import type { SealedPlace, Sealer } from "../../sealing.ts";
import { transaction } from "../../transaction.ts";
import { actorParameter, auditing } from "./audit-event.ts";
import { runStatement } from "../run-statement.ts";

interface KeyRow {
  id: string;
  purpose: KeyPurpose;
  state: StoredSigningKey["state"];
  public_jwk: JWK;
  sealed_private_jwk: Buffer | null;
  created_at: Date;
  ready_at: Date;
  current_since: Date | null;
  retired_at: Date | null;
}

/** Lets one rotation happen at a time in the whole installation; any constant will do, as long as it never changes. */
const ROTATION_LOCK = 0x7061746b;

/** How much later than a key's retirement a lagging replica may have issued a personal access token with it. */
const LAG = "10 minutes";

const ANNOUNCE = `select pg_notify('${SIGNING_KEY_CHANNEL}', '')`;

/** Where a signing key's private half is sealed: keys belong to the installation, so the place of the seal names no account. */
export function signingKeyPlace(id: string): SealedPlace {
  return { table: "signing_key", column: "sealed_private_jwk", accountId: "", rowId: id };
}

function parseJwk(text: string): JWK {
  const jwk: unknown = JSON.parse(text);
  if (!isJsonObject(jwk)) throw new Error("a sealed signing key is not a JWK");
  return jwk;
}

const BEGIN_SIGNING = `
  with changed as (
    update signing_key set state = 'current', current_since = now() where purpose = $1 and state = 'next'
    returning id, purpose),
  ${auditing(
    {
      action: "signing_key.rotate",
      objectType: "signing_key",
      accountId: `'${INSTALLATION_LOG}'`,
      objectName: "changed.purpose",
    },
    2,
  )}
  select id from changed`;

/** Signing keys in PostgreSQL, their private halves sealed. */
export function createSigningKeyStore(pool: pg.Pool, sealer: Sealer): KeyRotationStore {
  function sealed({ id, privateJwk }: NewSigningKey): Buffer {
    return sealer.seal(JSON.stringify(privateJwk), signingKeyPlace(id));
  }
  function toKey(row: KeyRow): StoredSigningKey {
    return {
      id: row.id,
      purpose: row.purpose,
      state: row.state,
      publicJwk: row.public_jwk,
      privateJwk:
        row.sealed_private_jwk === null
          ? undefined
          : parseJwk(sealer.open(row.sealed_private_jwk, signingKeyPlace(row.id))),
      createdAt: row.created_at,
      readyAt: row.ready_at,
      currentSince: row.current_since ?? undefined,
      retiredAt: row.retired_at ?? undefined,
    };
  }
  async function insertNext(
    runner: pg.Pool | pg.PoolClient,
    key: NewSigningKey,
    readyInSeconds: number,
  ): Promise<void> {
    const text = `with added as (
        insert into signing_key (id, purpose, state, public_jwk, sealed_private_jwk, ready_at)
        values ($1, $2, 'next', $3, $4, now() + make_interval(secs => $5))
        on conflict (purpose) where state = 'next' do nothing returning id)
      ${ANNOUNCE} from added`;
    const values = [key.id, key.purpose, key.publicJwk, sealed(key), readyInSeconds];
    await runStatement(runner, { name: "signing_key_insert_next", text, values });
  }

  return {
    async list() {
      const text = `select id, purpose, state, public_jwk, sealed_private_jwk, created_at, ready_at, current_since, retired_at
        from signing_key order by created_at, id`;
      const { rows } = await runStatement<KeyRow>(pool, { name: "signing_key_list", text, values: [] });
      return rows.map(toKey);
    },
    async insertFirst(current, next) {
      // Nobody can have cached the published keys without this next one, so it is ready from the start.
      const text = `with first as (
          insert into signing_key (id, purpose, state, public_jwk, sealed_private_jwk, current_since)
          values ($1, $2, 'current', $3, $4, now())
          on conflict (purpose) where state = 'current' do nothing returning id),
        second as (
          insert into signing_key (id, purpose, state, public_jwk, sealed_private_jwk)
          select $5, $2, 'next', $6::jsonb, $7::bytea from first
          on conflict (purpose) where state = 'next' do nothing)
        ${ANNOUNCE} from first`;
      const { id, purpose, publicJwk } = current;
      const values = [id, purpose, publicJwk, sealed(current), next.id, next.publicJwk, sealed(next)];
      await runStatement(pool, { name: "signing_key_insert_first", text, values });
    },
    insertNext: (next, readyInSeconds) => insertNext(pool, next, readyInSeconds),
    rotate: (purpose, fresh, { isForced, ifOlderThanSeconds, readyInSeconds }, actor) =>
      transaction(pool, async (client): Promise<RotationOutcome> => {
        await client.query("select pg_advisory_xact_lock($1)", [ROTATION_LOCK]);
        const { rows } = await client.query<{ ready_at: Date | null; is_ready: boolean | null; is_due: boolean }>(
          `select next.ready_at, next.ready_at <= now() as is_ready,
             $2::double precision is null or current.current_since < now() - make_interval(secs => $2) as is_due
           from signing_key current left join signing_key next on next.purpose = current.purpose and next.state = 'next'
           where current.purpose = $1 and current.state = 'current'`,
          [purpose, ifOlderThanSeconds ?? null],
        );
        const [found] = rows;
        if (found === undefined) throw new Error(`no current signing key for ${purpose}`);
        if (!found.is_due) return { kind: "not_due" };
        if (found.ready_at === null) throw new Error(`no next signing key for ${purpose}`);
        if (found.is_ready !== true && !isForced) return { kind: "not_ready", readyAt: found.ready_at };
        await client.query(
          `update signing_key set state = 'retired', retired_at = now(), sealed_private_jwk = null
           where purpose = $1 and state = 'current'`,
          [purpose],
        );
        await client.query(BEGIN_SIGNING, [purpose, actorParameter(actor)]);
        await insertNext(client, fresh, readyInSeconds);
        return { kind: "rotated" };
      }),
    async dropRetired(retiredForSeconds) {
      const text = `with dropped as (
          delete from signing_key as key
          where state = 'retired' and retired_at < now() - make_interval(secs => $1) and (
            purpose = 'access_token' or not exists (
              select 1 from personal_access_token token
              where token.created_at <= key.retired_at + interval '${LAG}' and token.revoked_at is null
                and (token.expires_at is null or token.expires_at > now())))
          returning id)
        select id, pg_notify('${SIGNING_KEY_CHANNEL}', '') from dropped`;
      const values = [retiredForSeconds];
      const { rows } = await runStatement<{ id: string }>(pool, { name: "signing_key_drop_retired", text, values });
      return rows.map(({ id }) => id);
    },
  };
}
