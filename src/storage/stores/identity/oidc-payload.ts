import type pg from "pg";
import type { PayloadStore } from "../../../identity/oauth/payload-store.ts";
import type { JsonObject } from "../../../json.ts";
import { runStatement } from "../run-statement.ts";

interface PayloadRow {
  payload: JsonObject;
  grant_id: string | null;
  consumed_at: Date | null;
  expires_at: Date | null;
}

const INSERT = {
  name: "oidc_payload_insert",
  text: `insert into oidc_payload (model, id, payload, grant_id, expires_at) values ($1, $2, $3, $4, $5)
    on conflict (model, id) do nothing`,
};

const FIND = {
  name: "oidc_payload_find",
  text: `select payload, grant_id, consumed_at, expires_at from oidc_payload
    where model = $1 and id = $2 and (expires_at is null or expires_at > now())`,
};

// Of statements at once on one row the second waits for the first and then finds it consumed.
const CONSUME = {
  name: "oidc_payload_consume",
  text: `update oidc_payload set consumed_at = now()
    where model = $1 and id = $2 and consumed_at is null and (expires_at is null or expires_at > now())`,
};

const KEEP = {
  name: "oidc_payload_keep",
  text: "update oidc_payload set expires_at = null where model = $1 and id = $2 and expires_at is not null",
};

/** What the authorization server remembers, in PostgreSQL. The sweep deletes what has expired. */
export function createPayloadStore(pool: pg.Pool): PayloadStore {
  return {
    async insert({ model, id, payload, grantId, expiresAt }) {
      const values = [model, id, JSON.stringify(payload), grantId ?? null, expiresAt ?? null];
      return (await runStatement(pool, { ...INSERT, values })).rowCount === 1;
    },
    async find(model, id) {
      const { rows } = await runStatement<PayloadRow>(pool, { ...FIND, values: [model, id] });
      const row = rows[0];
      return (
        row && {
          payload: row.payload,
          grantId: row.grant_id ?? undefined,
          isConsumed: row.consumed_at !== null,
          expiresAt: row.expires_at ?? undefined,
        }
      );
    },
    async consume(model, id) {
      return (await runStatement(pool, { ...CONSUME, values: [model, id] })).rowCount === 1;
    },
    async keep(model, id) {
      await runStatement(pool, { ...KEEP, values: [model, id] });
    },
  };
}
