import { isUnlimited, type Principal, reaches } from "./principal.ts";

/** Whether a token can access a credential that is bound to a connection, or, if undefined, to none. */
export function reachesBound(principal: Principal, connectionId: number | undefined): boolean {
  return isUnlimited(principal) || (connectionId !== undefined && reaches(principal, connectionId));
}

/** The connections that a token is limited to. Undefined for a token without limits. */
export function reachableConnections(principal: Principal): readonly number[] | undefined {
  if (isUnlimited(principal)) return undefined;
  const { connectionId, connectionIds } = principal;
  const named = [...(connectionIds ?? []), ...(connectionId === undefined ? [] : [connectionId])];
  return [...new Set(named)].filter((id) => reaches(principal, id));
}

type Held = { readonly memberId: string | undefined };

/** Whether a principal sees a credential of its account: members see their own, admins those of everyone. */
export function seesHeld({ role, memberId }: Principal, held: Held): boolean {
  return role !== "member" || held.memberId === memberId;
}

/** Whether a principal may change a credential or read a new secret of it: its own, or an owner that of no member. */
export function holds({ role, memberId }: Principal, held: Held): boolean {
  return held.memberId === memberId || (held.memberId === undefined && role === "owner");
}

/** The only member whose objects a principal sees. Undefined if it sees those of everyone. */
export function onlyHolder({ role, memberId }: Principal): string | undefined {
  return role === "member" ? memberId : undefined;
}
