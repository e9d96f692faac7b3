import { createHash } from "node:crypto";
import { sql } from "kysely";
import type { UpstreamClient } from "../../../integrations/authorization.ts";
import type { RegistrationPlace, UpstreamClients } from "../../../integrations/oauth/upstream-clients.ts";
import { isJsonObject } from "../../../json.ts";
import { UpstreamClientEntity } from "../../entities/integrations/upstream-client.ts";
import { now, type Orm, tablesOf, withEntities } from "../../orm.ts";
import type { SealedPlace, Sealer } from "../../sealing.ts";
import { toUpstreamClient } from "../connections/sealed-terms.ts";

/**
 * The location to which encryption binds a registration. It names no account, because a registration belongs to the
 * installation.
 */
export function upstreamClientPlace(id: string): SealedPlace {
  return { table: "upstream_client", column: "sealed_client", accountId: "", rowId: id };
}

/** Client registrations in PostgreSQL. */
export function createUpstreamClientStore({ orm, sealer }: { orm: Orm; sealer: Sealer }): UpstreamClients {
  async function find(id: string): Promise<{ readonly sealed: Buffer; readonly client: UpstreamClient } | undefined> {
    const isInForce = { id, $or: [{ expiresAt: null }, { expiresAt: { $gt: now() } }] };
    const row = await withEntities(orm, (em) => em.findOne(UpstreamClientEntity, isInForce));
    if (row === null) return undefined;
    const client: unknown = JSON.parse(sealer.open(row.sealedClient, upstreamClientPlace(id)));
    return { sealed: row.sealedClient, client: toUpstreamClient(isJsonObject(client) ? client : {}) };
  }

  return {
    find: async (place) => (await find(idOf(place)))?.client,
    async keep(place, client, expiresAt) {
      const id = idOf(place);
      const clock = sql<Date>`now()`;
      const sealed_client = sealer.seal(JSON.stringify(client), upstreamClientPlace(id));
      const kept = { sealed_client, expires_at: expiresAt ?? null, created_at: clock };
      await withEntities(orm, async (em) => {
        // Registrations for an unused redirect address are never looked up, so they are deleted once expired.
        await em.nativeDelete(UpstreamClientEntity, { id: { $ne: id }, expiresAt: { $lte: now() } });
        await tablesOf(em)
          .insertInto("upstream_client")
          .values({ id, ...kept })
          .onConflict((conflict) =>
            conflict.column("id").doUpdateSet(kept).where("upstream_client.expires_at", "<=", clock),
          )
          .execute();
      });
      return (await find(id))?.client ?? client;
    },
    async forget(place, clientId) {
      const id = idOf(place);
      const kept = await find(id);
      if (kept?.client.clientId !== clientId) return;
      // Compared byte by byte, so that a concurrent new registration is kept.
      await withEntities(orm, (em) => em.nativeDelete(UpstreamClientEntity, { id, sealedClient: kept.sealed }));
    },
  };
}

function idOf({ issuer, redirectUri }: RegistrationPlace): string {
  return createHash("sha256")
    .update(JSON.stringify([issuer, redirectUri]))
    .digest("base64url");
}
