import { randomBytes } from "node:crypto";
import type { InferEntity } from "@mikro-orm/core";
import { LockMode, raw } from "@mikro-orm/postgresql";
import type {
  AuthorizationStore,
  StartedAuthorization,
} from "../../../connections/authorization/authorization-store.ts";
import { AuthorizationRequestEntity } from "../../entities/connections/authorization-request.ts";
import { ConnectionEntity } from "../../entities/connections/connection.ts";
import { inTransaction, now, type Orm, transactionTime, withEntities } from "../../orm.ts";
import type { SealedPlace, Sealer } from "../../sealing.ts";
import { fieldsOf, textOf, toTerms } from "./sealed-terms.ts";

/** Maximum number of pending tickets of one connection; a new ticket replaces the oldest. */
const MAX_WAITING = 20;

/** The location to which encryption binds the terms and the PKCE verifier of an authorization. */
export function flowPlace(accountId: string, id: string): SealedPlace {
  return { table: "authorization_request", column: "sealed_flow", accountId, rowId: id };
}

/** Pending authorizations in PostgreSQL. The sweep deletes abandoned ones. */
export function createAuthorizationStore(deps: { readonly orm: Orm; readonly sealer: Sealer }): AuthorizationStore {
  const { orm, sealer } = deps;

  function seal(accountId: string, id: string, { terms, codeVerifier }: StartedAuthorization): Buffer {
    return sealer.seal(JSON.stringify({ terms, codeVerifier }), flowPlace(accountId, id));
  }

  function toBegun(accountId: string, row: InferEntity<typeof AuthorizationRequestEntity>): StartedAuthorization {
    const { id, connectionId, keyVersion, sealedFlow } = row;
    if (!keyVersion || !sealedFlow) throw new TypeError("an authorization that was begun lacks its terms");
    const opened = fieldsOf(JSON.parse(sealer.open(sealedFlow, flowPlace(accountId, id))));
    const codeVerifier = textOf(opened.codeVerifier);
    return { connectionId, keyVersion, terms: toTerms(fieldsOf(opened.terms)), codeVerifier };
  }

  return {
    issue: (accountId, connectionId, ticketHash, lifetimeSeconds) =>
      inTransaction(orm, async (em) => {
        const connection = await em.findOne(ConnectionEntity, { accountId, id: connectionId }, { fields: ["id"] });
        if (connection === null) return undefined;
        const waiting = { orderBy: { expiresAt: "desc" }, offset: MAX_WAITING - 1 } as const;
        em.remove(await em.find(AuthorizationRequestEntity, { accountId, connectionId }, waiting));
        const id = randomBytes(16).toString("base64url");
        const expiresAt = new Date((await transactionTime(em)).getTime() + lifetimeSeconds * 1_000);
        em.create(AuthorizationRequestEntity, { accountId, id, connectionId, ticketHash, expiresAt });
        return expiresAt;
      }),
    find: (accountId, ticketHash) =>
      withEntities(orm, async (em) => {
        const request = await em.findOne(AuthorizationRequestEntity, {
          accountId,
          ticketHash,
          stateHash: null,
          ...isOpen(),
        });
        if (request === null) return undefined;
        const { id, connectionId } = request;
        const { wantedScope } = await em.findOneOrFail(ConnectionEntity, { accountId, id: connectionId });
        return { id, connectionId, wantedScope: wantedScope ?? undefined };
      }),
    async start(accountId, id, begun, lifetimeSeconds) {
      // Of two concurrent updates of a row, the second waits for the first and then sees that the state is set.
      const isWaiting = { accountId, id, stateHash: null, ...isOpen() };
      const { sessionId, stateHash, keyVersion } = begun;
      const expiresAt = raw("now() + make_interval(secs => ?)", [lifetimeSeconds]);
      const change = { sessionId, stateHash, keyVersion, sealedFlow: seal(accountId, id, begun), expiresAt };
      return (await withEntities(orm, (em) => em.nativeUpdate(AuthorizationRequestEntity, isWaiting, change))) === 1;
    },
    consume: (accountId, sessionId, stateHash) =>
      inTransaction(orm, async (em) => {
        const isBegun = { accountId, sessionId, stateHash, ...isOpen() };
        const lock = { lockMode: LockMode.PESSIMISTIC_WRITE };
        const request = await em.findOne(AuthorizationRequestEntity, isBegun, lock);
        if (request === null) return undefined;
        em.remove(request);
        return toBegun(accountId, request);
      }),
  };
}

function isOpen() {
  return { expiresAt: { $gt: now() } };
}
