import type { PayloadStore } from "../../../identity/oauth/payload-store.ts";
import { OidcPayloadEntity } from "../../entities/identity/oidc-payload.ts";
import { now, type Orm, tablesOf, withEntities } from "../../orm.ts";

const isCurrent = () => ({ $or: [{ expiresAt: null }, { expiresAt: { $gt: now() } }] });

/** The state of the authorization server, in PostgreSQL. The sweep deletes expired rows. */
export function createPayloadStore(orm: Orm): PayloadStore {
  return {
    insert: ({ model, id, payload, grantId, expiresAt }) =>
      withEntities(orm, async (em) => {
        const { numInsertedOrUpdatedRows } = await tablesOf(em)
          .insertInto("oidc_payload")
          .values({ model, id, payload, grant_id: grantId ?? null, expires_at: expiresAt ?? null })
          .onConflict((conflict) => conflict.doNothing())
          .executeTakeFirstOrThrow();
        return numInsertedOrUpdatedRows === 1n;
      }),
    async find(model, id) {
      const row = await withEntities(orm, (em) => em.findOne(OidcPayloadEntity, { model, id, ...isCurrent() }));
      if (row === null) return undefined;
      const { payload, grantId, consumedAt, expiresAt } = row;
      return {
        payload,
        grantId: grantId ?? undefined,
        isConsumed: consumedAt !== null,
        expiresAt: expiresAt ?? undefined,
      };
    },
    async consume(model, id) {
      // Of concurrent updates of a row, the second waits for the first and then finds the payload consumed.
      const isUnused = { model, id, consumedAt: null, ...isCurrent() };
      const change = { consumedAt: now() };
      return (await withEntities(orm, (em) => em.nativeUpdate(OidcPayloadEntity, isUnused, change))) === 1;
    },
    async keep(model, id) {
      const ends = { model, id, expiresAt: { $ne: null } };
      await withEntities(orm, (em) => em.nativeUpdate(OidcPayloadEntity, ends, { expiresAt: null }));
    },
  };
}
