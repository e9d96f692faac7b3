import { ForeignKeyConstraintViolationException, type InferEntity } from "@mikro-orm/core";
import { type EntityManager, raw } from "@mikro-orm/postgresql";
import { DomainError } from "../../../domain-error.ts";
import type { Actor } from "../../../identity/actor.ts";
import type { AuditAction } from "../../../identity/audit/audit-event.ts";
import type { PersonalAccessToken, PersonalAccessTokenStore } from "../../../identity/tokens/personal-access-token.ts";
import type { Database } from "../../database.ts";
import { PersonalAccessTokenEntity } from "../../entities/identity/personal-access-token.ts";
import { SessionEntity } from "../../entities/sessions/session.ts";
import { inTransaction, now, withEntities } from "../../orm.ts";
import { findTokenUse, touchTokens } from "../../statements/personal-access-token.ts";
import { runnerOf } from "../run-statement.ts";
import { lockAccount } from "./account-lock.ts";
import { recordEvent } from "./audit-event.ts";
import { revoke } from "./revocation.ts";

type TokenRow = InferEntity<typeof PersonalAccessTokenEntity>;

function toToken(row: TokenRow): PersonalAccessToken {
  return {
    accountId: row.accountId,
    memberId: row.memberId ?? undefined,
    id: row.id,
    clientId: row.clientId,
    name: row.name,
    scopes: row.scopes,
    connectionId: row.connectionId ?? undefined,
    createdAt: row.createdAt,
    expiresAt: row.expiresAt ?? undefined,
    revokedAt: row.revokedAt ?? undefined,
    lastUsedAt: row.lastUsedAt ?? undefined,
    replacedBy: row.replacedBy ?? undefined,
  };
}

function isInUse() {
  return { revokedAt: null, $or: [{ expiresAt: null }, { expiresAt: { $gt: now() } }] };
}

type Named = Pick<TokenRow, "accountId" | "id" | "name">;

function record(em: EntityManager, { accountId, id, name }: Named, action: AuditAction, actor: Actor): void {
  const object = { accountId, objectType: "personal_access_token", objectId: id, objectName: name } as const;
  recordEvent(em, { ...object, action, actor });
}

async function insert(em: EntityManager, token: PersonalAccessToken, action: AuditAction, actor: Actor): Promise<void> {
  em.create(PersonalAccessTokenEntity, {
    ...token,
    memberId: token.memberId ?? null,
    scopes: [...token.scopes],
    connectionId: token.connectionId ?? null,
    expiresAt: token.expiresAt ?? null,
    revokedAt: null,
    lastUsedAt: null,
    replacedBy: null,
  });
  record(em, token, action, actor);
  await em.flush();
}

/** Revokes the token, and ends the sessions of its client unless another token acts as the same client. */
async function endToken(em: EntityManager, accountId: string, id: string, clientId: string): Promise<void> {
  // Sessions continue if another token acts as the same client: a token that replaced this one, or that this one
  // replaces.
  const siblings = await em.count(PersonalAccessTokenEntity, { accountId, clientId, id: { $ne: id }, ...isInUse() });
  if (siblings === 0) await em.nativeDelete(SessionEntity, { accountId, clientId });
  await revoke(runnerOf(em), { accountId, kind: "token", subject: id });
}

const OLDEST_FIRST = { createdAt: "asc", id: "asc" } as const;

/** Personal access tokens in PostgreSQL. */
export function createPersonalAccessTokenStore({
  orm,
  pool,
}: Pick<Database, "orm" | "pool">): PersonalAccessTokenStore {
  return {
    async insert(token, limit, actor) {
      try {
        await inTransaction(orm, async (em) => {
          const { accountId, memberId = null } = token;
          await lockAccount(em, accountId, memberId);
          if ((await em.count(PersonalAccessTokenEntity, { accountId, memberId, ...isInUse() })) >= limit) {
            const rule = `An account can have at most ${limit} personal access tokens in use; revoke one first.`;
            throw new DomainError("exhausted", rule);
          }
          await insert(em, token, "personal_access_token.create", actor);
        });
        return true;
      } catch (error) {
        if (error instanceof ForeignKeyConstraintViolationException) return false;
        throw error;
      }
    },
    async find(accountId, id) {
      const row = await withEntities(orm, (em) => em.findOne(PersonalAccessTokenEntity, { accountId, id }));
      return row === null ? undefined : toToken(row);
    },
    async list(accountId) {
      const options = { orderBy: OLDEST_FIRST };
      return (await withEntities(orm, (em) => em.find(PersonalAccessTokenEntity, { accountId }, options))).map(toToken);
    },
    async listPage(accountId, { connectionIds, memberId, includesEnded }, limit, offset) {
      const where = {
        accountId,
        ...(memberId === undefined ? {} : { memberId }),
        ...(includesEnded ? {} : isInUse()),
        ...(connectionIds === undefined ? {} : { connectionId: { $in: [...connectionIds] } }),
      };
      const options = { orderBy: OLDEST_FIRST, limit, offset };
      const [rows, totalCount] = await withEntities(orm, (em) =>
        em.findAndCount(PersonalAccessTokenEntity, where, options),
      );
      return { tokens: rows.map(toToken), totalCount };
    },
    rotate: (accountId, id, fresh, graceSeconds, actor) =>
      inTransaction(orm, async (em) => {
        // A member who leaves meanwhile leaves no new token behind.
        if (fresh.memberId !== undefined) await lockAccount(em, accountId, fresh.memberId);
        const change = {
          replacedBy: fresh.id,
          expiresAt: raw("least(expires_at, clock_timestamp() + make_interval(secs => ?))", [graceSeconds]),
          // Without a grace period, `revoke` also revokes the token.
          revokedAt: graceSeconds === 0 ? now() : null,
        };
        const replaced = await em.nativeUpdate(PersonalAccessTokenEntity, { accountId, id, ...isInUse() }, change);
        if (replaced === 0) return false;
        await insert(em, fresh, "personal_access_token.rotate", actor);
        if (graceSeconds === 0) await endToken(em, accountId, id, fresh.clientId);
        return true;
      }),
    revoke: (accountId, id, actor) =>
      inTransaction(orm, async (em) => {
        const isUnrevoked = { accountId, id, revokedAt: null };
        const change = { revokedAt: now() };
        if ((await em.nativeUpdate(PersonalAccessTokenEntity, isUnrevoked, change)) === 0) return false;
        const token = await em.findOneOrFail(PersonalAccessTokenEntity, { accountId, id });
        record(em, token, "personal_access_token.revoke", actor);
        await endToken(em, accountId, id, token.clientId);
        return true;
      }),
    async findOwner(id) {
      return (await withEntities(orm, (em) => em.findOne(PersonalAccessTokenEntity, { id, revokedAt: null })))
        ?.accountId;
    },
    async findUse(accountId, id, clientId) {
      const [row] = (await findTokenUse(pool, { accountId, id, clientId })).rows;
      return row && { expiresAt: row.expiresAt ?? undefined };
    },
    async touch(used) {
      await touchTokens(pool, { accountIds: used.map(({ accountId }) => accountId), ids: used.map(({ id }) => id) });
    },
  };
}
