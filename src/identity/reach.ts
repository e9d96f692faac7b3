import { type Principal, reaches, reachesAll } from "./principal.ts";

/** Whether a principal sees what is bound to a connection; what is bound to none is seen by who sees all connections. */
export function reachesBound(principal: Principal, connectionId: number | undefined): boolean {
  return reachesAll(principal) || (connectionId !== undefined && reaches(principal, connectionId));
}

/** The connections that a principal is limited to; undefined when it sees all of its account. */
export function reachableConnections(principal: Principal): readonly number[] | undefined {
  if (reachesAll(principal)) return undefined;
  const { connectionId, connectionIds } = principal;
  const named = [...(connectionIds ?? []), ...(connectionId === undefined ? [] : [connectionId])];
  return [...new Set(named)].filter((id) => reaches(principal, id));
}
