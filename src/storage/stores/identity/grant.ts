import type { InferEntity } from "@mikro-orm/core";
import { LockMode } from "@mikro-orm/postgresql";
import type { OAuthGrant, OAuthGrantStore } from "../../../identity/grants/grants.ts";
import type { Database } from "../../database.ts";
import { AccountEntity } from "../../entities/identity/account.ts";
import { MemberEntity } from "../../entities/identity/member.ts";
import { OauthGrantEntity } from "../../entities/identity/oauth-grant.ts";
import { OidcPayloadEntity } from "../../entities/identity/oidc-payload.ts";
import { SessionEntity } from "../../entities/sessions/session.ts";
import { inTransaction, now, withEntities } from "../../orm.ts";
import { findGrantReach, findTokenGrant } from "../../statements/token-grant.ts";
import { runnerOf } from "../run-statement.ts";
import { recordEvent } from "./audit-event.ts";
import { revoke } from "./revocation.ts";

type GrantRow = Pick<
  InferEntity<typeof OauthGrantEntity>,
  Exclude<keyof OAuthGrant, "memberId" | "connectionIds" | "lastUsedAt">
> & {
  readonly memberId?: string | null | undefined;
  readonly connectionIds?: number[] | null | undefined;
  readonly lastUsedAt?: Date | null | undefined;
};

function toGrant(row: GrantRow): OAuthGrant {
  const { accountId, id, clientId, clientName, redirectUri, scopes, resource, connectionIds, createdAt, lastUsedAt } =
    row;
  return {
    ...{ accountId, id, clientId, clientName, redirectUri, scopes, resource, createdAt },
    memberId: row.memberId ?? undefined,
    connectionIds: connectionIds ?? undefined,
    lastUsedAt: lastUsedAt ?? undefined,
  };
}

/** Maximum number of active grants per account. */
const MAX_GRANTS = 1_000;

const NEWEST_FIRST = { orderBy: { createdAt: "desc", id: "asc" } } as const;

/** Grants in PostgreSQL. */
export function createOAuthGrantStore({ orm, pool }: Pick<Database, "orm" | "pool">): OAuthGrantStore {
  return {
    insert: (grant, actor) =>
      inTransaction(orm, async (em) => {
        const { accountId, memberId = null, id, clientName, connectionIds } = grant;
        const lock = { lockMode: LockMode.PESSIMISTIC_WRITE };
        if ((await em.findOne(AccountEntity, { id: accountId, disabledAt: null }, lock)) === null) return false;
        if (memberId !== null && (await em.count(MemberEntity, { accountId, personId: memberId })) === 0) return false;
        if ((await em.count(OauthGrantEntity, { accountId, memberId, revokedAt: null })) >= MAX_GRANTS) return false;
        em.create(OauthGrantEntity, {
          ...grant,
          memberId,
          scopes: [...grant.scopes],
          connectionIds: connectionIds === undefined ? null : [...connectionIds],
        });
        const object = { accountId, objectType: "grant", objectId: id, objectName: clientName } as const;
        recordEvent(em, { ...object, action: "grant.create", actor });
        return true;
      }),
    async list(accountId) {
      const isInUse = { accountId, revokedAt: null };
      return (await withEntities(orm, (em) => em.find(OauthGrantEntity, isInUse, NEWEST_FIRST))).map(toGrant);
    },
    async listOfClient(accountId, clientId) {
      const isInUse = { accountId, clientId, revokedAt: null };
      return (await withEntities(orm, (em) => em.find(OauthGrantEntity, isInUse, NEWEST_FIRST))).map(toGrant);
    },
    hasClient: async (clientId) =>
      (await withEntities(orm, (em) => em.findOne(OauthGrantEntity, { clientId, revokedAt: null }))) !== null,
    async findForToken(id) {
      const [row] = (await findTokenGrant(pool, { id })).rows;
      return row && { ...toGrant(row), issuedAt: row.moment, isAdmin: row.isAdmin };
    },
    async findReach(accountId, id) {
      const [row] = (await findGrantReach(pool, { accountId, id })).rows;
      return (
        row && {
          connectionIds: row.connectionIds === null ? undefined : new Set(row.connectionIds),
          memberId: row.memberId ?? undefined,
        }
      );
    },
    async touch(accountId, id) {
      await withEntities(orm, (em) => em.nativeUpdate(OauthGrantEntity, { accountId, id }, { lastUsedAt: now() }));
    },
    revoke: (accountId, id, actor) =>
      inTransaction(orm, async (em) => {
        const isInUse = { accountId, id, revokedAt: null };
        if ((await em.nativeUpdate(OauthGrantEntity, isInUse, { revokedAt: now() })) === 0) return false;
        const { clientName } = await em.findOneOrFail(OauthGrantEntity, { accountId, id });
        const object = { accountId, objectType: "grant", objectId: id, objectName: clientName } as const;
        recordEvent(em, { ...object, action: "grant.revoke", actor });
        await em.nativeDelete(OidcPayloadEntity, { grantId: id });
        await em.nativeDelete(SessionEntity, { accountId, grantId: id });
        await revoke(runnerOf(em), { accountId, kind: "grant", subject: id });
        return true;
      }),
  };
}
