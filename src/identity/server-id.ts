import { DomainError } from "../domain-error.ts";
import { type Principal, reaches } from "./principal.ts";

const MAX_ID = 2_147_483_647;

/** Returns undefined for an id that no connection can have (DESIGN §6 «ids»). */
export function parseServerId(serverId: string): number | undefined {
  if (!/^[1-9][0-9]{0,9}$/.test(serverId)) return undefined;
  const id = Number(serverId);
  return id <= MAX_ID ? id : undefined;
}

/**
 * Returns the id if the principal can access such a connection: a bound token can access its own connection, a grant's
 * token the chosen ones.
 */
export function reachableId(principal: Principal, serverId: string): number | undefined {
  const id = parseServerId(serverId);
  return id !== undefined && reaches(principal, id) ? id : undefined;
}

/** The specification's 404. Echoes at most 64 printable characters of the id. */
export function connectionNotFound(serverId: string): DomainError {
  const shown = serverId.slice(0, 64).replace(/[^\x20-\x7e]/g, "?");
  return new DomainError("not_found", `MCP server ${shown} not found or not accessible`);
}
