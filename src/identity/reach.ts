import { type Principal, reaches, reachesAll } from "./principal.ts";

/** Whether a principal can access an object that is bound to a connection, or, if undefined, to none. */
export function reachesBound(principal: Principal, connectionId: number | undefined): boolean {
  return reachesAll(principal) || (connectionId !== undefined && reaches(principal, connectionId));
}

/** Returns undefined for a principal that can access all connections. */
export function reachableConnections(principal: Principal): readonly number[] | undefined {
  if (reachesAll(principal)) return undefined;
  const { connectionId, connectionIds } = principal;
  const named = [...(connectionIds ?? []), ...(connectionId === undefined ? [] : [connectionId])];
  return [...new Set(named)].filter((id) => reaches(principal, id));
}
