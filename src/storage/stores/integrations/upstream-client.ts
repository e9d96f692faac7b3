import { createHash } from "node:crypto";
import type pg from "pg";
import type { UpstreamClient } from "../../../integrations/authorization.ts";
import type { RegistrationPlace, UpstreamClients } from "../../../integrations/oauth/upstream-clients.ts";
import { isJsonObject } from "../../../json.ts";
import type { SealedPlace, Sealer } from "../../sealing.ts";
import { runStatement } from "../run-statement.ts";
import { toUpstreamClient } from "../connections/sealed-terms.ts";

const FIND = {
  name: "upstream_client_find",
  text: "select sealed_client from upstream_client where id = $1 and (expires_at is null or expires_at > now())",
};
const KEEP = {
  name: "upstream_client_keep",
  // Registrations of an address that is no longer used are found by nobody, so they go when they have expired.
  text: `with expired as (delete from upstream_client where id <> $1 and expires_at <= now())
    insert into upstream_client (id, sealed_client, expires_at) values ($1, $2, $3)
    on conflict (id) do update set sealed_client = excluded.sealed_client, expires_at = excluded.expires_at, created_at = now()
      where upstream_client.expires_at <= now()`,
};
/** Compared byte by byte: another registration that was kept meanwhile stays. */
const FORGET = {
  name: "upstream_client_forget",
  text: "delete from upstream_client where id = $1 and sealed_client = $2",
};

/** Where a registration is sealed to: it belongs to the installation, so the place names no account. */
export function upstreamClientPlace(id: string): SealedPlace {
  return { table: "upstream_client", column: "sealed_client", accountId: "", rowId: id };
}

/** Registrations in PostgreSQL. */
export function createUpstreamClientStore({ pool, sealer }: { pool: pg.Pool; sealer: Sealer }): UpstreamClients {
  async function find(id: string): Promise<{ readonly sealed: Buffer; readonly client: UpstreamClient } | undefined> {
    const { rows } = await runStatement<{ sealed_client: Buffer }>(pool, { ...FIND, values: [id] });
    const sealed = rows[0]?.sealed_client;
    if (sealed === undefined) return undefined;
    const client: unknown = JSON.parse(sealer.open(sealed, upstreamClientPlace(id)));
    return { sealed, client: toUpstreamClient(isJsonObject(client) ? client : {}) };
  }

  return {
    find: async (place) => (await find(idOf(place)))?.client,
    async keep(place, client, expiresAt) {
      const id = idOf(place);
      const sealed = sealer.seal(JSON.stringify(client), upstreamClientPlace(id));
      await runStatement(pool, { ...KEEP, values: [id, sealed, expiresAt ?? null] });
      return (await find(id))?.client ?? client;
    },
    async forget(place, clientId) {
      const id = idOf(place);
      const kept = await find(id);
      if (kept?.client.clientId === clientId) await runStatement(pool, { ...FORGET, values: [id, kept.sealed] });
    },
  };
}

function idOf({ issuer, redirectUri }: RegistrationPlace): string {
  return createHash("sha256")
    .update(JSON.stringify([issuer, redirectUri]))
    .digest("base64url");
}
