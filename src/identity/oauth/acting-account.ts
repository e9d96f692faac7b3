import type { LoginSession } from "../login/login-session.ts";
import { MAX_ORGANIZATIONS, type OrganizationStore } from "../organizations/organization.ts";
import type { Role } from "../organizations/role.ts";

/** An account that a logged-in person can act for. */
export interface ActingAccount {
  readonly accountId: string;
  /** The person, in an organization. Undefined in the person's own account. */
  readonly memberId: string | undefined;
  /** Undefined in the person's own account. */
  readonly role: Role | undefined;
  /** The e-mail address, or the name of the organization. */
  readonly label: string;
  /** Whether its tokens may have `mgmt.admin`. */
  readonly isAdmin: boolean;
}

/** Returns the accounts that a person can act for, the person's own first. */
export type ListActingAccounts = (session: LoginSession) => Promise<readonly [ActingAccount, ...ActingAccount[]]>;

export function createListActingAccounts(store: Pick<OrganizationStore, "listOf">): ListActingAccounts {
  return async ({ accountId, email, isAdmin }) => {
    const { organizations } = await store.listOf(accountId, MAX_ORGANIZATIONS, 0);
    return [
      { accountId, memberId: undefined, role: undefined, label: email, isAdmin },
      ...organizations.map(({ id, name, role }) => {
        return { accountId: id, memberId: accountId, role, label: name, isAdmin: false };
      }),
    ];
  };
}
