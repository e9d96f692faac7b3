import { invalid } from "../../domain-error.ts";
import { isLongerThan } from "../../text-length.ts";
import type { Actor } from "../actor.ts";
import type { Role } from "./role.ts";

/** An account that several people share. */
export interface Organization {
  /** `org_<random>`. */
  readonly id: string;
  readonly name: string;
  readonly memberCount: number;
  readonly createdAt: Date;
}

/** An organization with the role of the person who asks. */
export interface JoinedOrganization extends Organization {
  readonly role: Role;
}

/** A person in an organization. */
export interface Member {
  /** The person's own account. */
  readonly id: string;
  readonly email: string;
  readonly role: Role;
  readonly createdAt: Date;
}

/** Stores organizations. Every change writes its audit event and notifies all replicas in one transaction. */
export interface OrganizationStore {
  /** Creates the organization and its owner. Returns false if the person is in `limit` organizations. */
  insert(
    organization: { readonly id: string; readonly name: string },
    ownerId: string,
    limit: number,
    actor: Actor,
  ): Promise<boolean>;
  /** Returns an active organization, and the person's role if the person is a member. */
  find(
    id: string,
    personId: string | undefined,
  ): Promise<(Organization & { readonly role: Role | undefined }) | undefined>;
  /** The organizations of a person, oldest membership first. */
  listOf(
    personId: string,
    limit: number,
    offset: number,
  ): Promise<{ readonly organizations: readonly JoinedOrganization[]; readonly totalCount: number }>;
  /** Returns false if there is no such organization. */
  rename(id: string, name: string, actor: Actor): Promise<boolean>;
  /** Revokes all tokens at once and enqueues the deletion of everything else. Returns false if there is no such organization. */
  delete(id: string, actor: Actor): Promise<boolean>;
}

/** Stores members, like `OrganizationStore`. */
export interface MemberStore {
  findMember(id: string, memberId: string): Promise<Member | undefined>;
  /** Oldest membership first. */
  listMembers(
    id: string,
    limit: number,
    offset: number,
  ): Promise<{ readonly members: readonly Member[]; readonly totalCount: number }>;
  addMember(id: string, memberId: string, role: Role, actor: Actor): Promise<"joined" | "member_already" | "full">;
  changeRole(id: string, memberId: string, role: Role, actor: Actor): Promise<"changed" | "missing" | "last_owner">;
  /** Makes `toId` an owner and `fromId` an admin. */
  transfer(id: string, fromId: string, toId: string, actor: Actor): Promise<"changed" | "missing">;
  /** Ends the membership with the member's sessions, tokens, clients and grants in the organization. */
  removeMember(id: string, memberId: string, actor: Actor): Promise<"changed" | "missing" | "last_owner">;
}

/** The maximum number of members of an organization, and of organizations of a person. */
export const MAX_MEMBERS = 1_000;
export const MAX_ORGANIZATIONS = 100;

const MAX_NAME = 255;

/** Whether an account id is that of an organization. */
export function isOrganizationId(accountId: string): boolean {
  return accountId.startsWith("org_");
}

/** Throws `invalid` for a name that is empty, too long or has control characters. */
export function checkOrganizationName(name: string): string {
  if (name.trim() === "" || isLongerThan(name, MAX_NAME))
    throw invalid("name", `name must have 1 to ${MAX_NAME} characters.`);
  if (/\p{Cc}/u.test(name)) throw invalid("name", "name must not contain control characters.");
  return name;
}
