import type { EntityManager } from "@mikro-orm/postgresql";
import { DomainError } from "../../../domain-error.ts";
import { SERVICE, type Actor } from "../../../identity/actor.ts";
import type { AuditAction } from "../../../identity/audit/audit-event.ts";
import { MEMBER_CHANNEL } from "../../../identity/organizations/memberships.ts";
import { AccountEntity } from "../../entities/identity/account.ts";
import { MemberEntity } from "../../entities/identity/member.ts";
import { OauthClientEntity } from "../../entities/identity/oauth-client.ts";
import { OauthGrantEntity } from "../../entities/identity/oauth-grant.ts";
import { OidcPayloadEntity } from "../../entities/identity/oidc-payload.ts";
import { PersonalAccessTokenEntity } from "../../entities/identity/personal-access-token.ts";
import { McpTaskEntity } from "../../entities/sessions/mcp-task.ts";
import { SessionEntity } from "../../entities/sessions/session.ts";
import { notify, now } from "../../orm.ts";
import { recordEvent } from "../identity/audit-event.ts";
import { lockAccount } from "../identity/account-lock.ts";
import { revoke } from "../identity/revocation.ts";
import { runnerOf } from "../run-statement.ts";

/** Notifies all replicas of a change of one member, or of all of an organization, when the transaction commits. */
export function announceMember(em: EntityManager, organizationId: string, memberId: string | undefined): Promise<void> {
  return notify(em, MEMBER_CHANNEL, memberId === undefined ? organizationId : `${organizationId} ${memberId}`);
}

/** Writes the audit event of a change of a member. */
export async function recordMember(
  em: EntityManager,
  organizationId: string,
  memberId: string,
  action: AuditAction,
  actor: Actor,
): Promise<void> {
  const { email } = await em.findOneOrFail(AccountEntity, { id: memberId });
  const object = { accountId: organizationId, objectType: "member", objectId: memberId, objectName: email } as const;
  recordEvent(em, { ...object, action, actor, changed: action === "member.change_role" ? ["role"] : [] });
}

/** Whether a member is the last owner. Call it while the organization is locked. */
export async function isLastOwner(em: EntityManager, accountId: string, personId: string): Promise<boolean> {
  const others = { accountId, role: "owner", personId: { $ne: personId } } as const;
  return (await em.count(MemberEntity, others)) === 0;
}

/**
 * Deletes a membership with the member's sessions, tokens, clients and grants in the organization, within the caller's
 * transaction.
 */
export async function endMembership(em: EntityManager, accountId: string, memberId: string): Promise<void> {
  await em.nativeDelete(MemberEntity, { accountId, personId: memberId });
  await em.nativeDelete(SessionEntity, { accountId, memberId });
  await em.nativeDelete(McpTaskEntity, { accountId, memberId });
  const isHeld = { accountId, memberId, revokedAt: null };
  const tokens = await em.find(PersonalAccessTokenEntity, isHeld, { fields: ["id"] });
  const clients = await em.find(OauthClientEntity, isHeld, { fields: ["id"] });
  const grants = await em.find(OauthGrantEntity, isHeld, { fields: ["id"] });
  await em.nativeUpdate(PersonalAccessTokenEntity, isHeld, { revokedAt: now() });
  const isRevoked = { revokedAt: now(), previousSecretHash: null, previousSecretUntil: null };
  await em.nativeUpdate(OauthClientEntity, isHeld, isRevoked);
  await em.nativeUpdate(OauthGrantEntity, isHeld, { revokedAt: now() });
  await em.nativeDelete(OidcPayloadEntity, { grantId: { $in: grants.map(({ id }) => id) } });
  const runner = runnerOf(em);
  for (const { id } of tokens) await revoke(runner, { accountId, kind: "token", subject: id });
  for (const { id } of clients) await revoke(runner, { accountId, kind: "client", subject: id });
  for (const { id } of grants) await revoke(runner, { accountId, kind: "grant", subject: id });
  await announceMember(em, accountId, memberId);
}

/** Throws `conflict` for the only owner of an organization, which would be left without one. */
export async function refuseSoleOwner(em: EntityManager, personId: string): Promise<void> {
  for (const { accountId } of await em.find(MemberEntity, { personId, role: "owner" })) {
    if (!(await isLastOwner(em, accountId, personId))) continue;
    const rule = `The account is the only owner of the organization ${accountId}: delete it or name another owner first.`;
    throw new DomainError("conflict", rule);
  }
}

/** Ends all memberships of a person, within the transaction that deletes the person's account. */
export async function endMemberships(em: EntityManager, personId: string): Promise<void> {
  const memberships = await em.find(MemberEntity, { personId }, { orderBy: { accountId: "asc" } });
  for (const { accountId } of memberships) {
    await lockAccount(em, accountId);
    await recordMember(em, accountId, personId, "member.remove", SERVICE);
  }
  await em.flush();
  await refuseSoleOwner(em, personId);
  for (const { accountId } of memberships) await endMembership(em, accountId, personId);
}
