import { mayCall, type Principal } from "../../../identity/principal.ts";
import { connectionNotFound, parseServerId } from "../../../identity/server-id.ts";
import type { ConnectionView } from "../../../connections/connection-view.ts";
import type { Access } from "../../gate/gate.ts";
import { routeNotFound } from "../../http/fault.ts";
import type { PathParameters } from "../../http/router.ts";
import { ENDPOINT, endpointPath, metadataUrl } from "../address.ts";
import { MCP_SCOPES } from "../resource-metadata.ts";

/** One of these scopes is required; each tool then checks its own. */
const REQUIRED_SCOPES = ["mcp.read", "mcp.write", "mgmt.read", "mgmt.write", "mgmt.admin"];

/** Who may use an endpoint, and what a token accesses at the address of one connection. */
export interface EndpointAccess {
  accessTo(connectionId: number | undefined): Access;
  /** Restricts a principal to the connection of an address. Returns the same object for the same principal. */
  narrow(principal: Principal, connectionId: number | undefined): Principal;
  /** Like `narrow`. Throws `not_found` for a connection that is deleted, foreign or outside the token's access. */
  actorAt(connectionId: number | undefined, principal: Principal): Promise<Principal>;
}

/** `endpoint` is the path of the endpoint. A token for MCP is valid at all of them. */
export function createEndpointAccess(
  connections: Pick<ConnectionView, "find">,
  publicUrl: string,
  endpoint: string,
): EndpointAccess {
  const narrowed = new WeakMap<Principal, Map<number, Principal>>();

  function narrow(principal: Principal, connectionId: number | undefined): Principal {
    if (connectionId === undefined || principal.connectionId === connectionId) return principal;
    const known = narrowed.get(principal) ?? new Map<number, Principal>();
    narrowed.set(principal, known);
    const narrow = known.get(connectionId) ?? { ...principal, connectionId };
    known.set(connectionId, narrow);
    return narrow;
  }

  return {
    narrow,

    accessTo(connectionId) {
      const paths = [...new Set([ENDPOINT, endpoint])].flatMap((path) => [
        path,
        ...(connectionId === undefined ? [] : [endpointPath(connectionId, path)]),
      ]);
      return {
        isPublic: false,
        requiredScopes: REQUIRED_SCOPES,
        audiences: [publicUrl, ...paths.map((path) => publicUrl + path)],
        texts: { forbidden: "You do not have permission to use MCP servers." },
        resourceMetadataUrl: metadataUrl(publicUrl, endpointPath(connectionId, endpoint)),
        challengedScopes: MCP_SCOPES,
      };
    },

    async actorAt(connectionId, principal) {
      if (connectionId === undefined) return principal;
      const isReachable = mayCall(principal, connectionId);
      if (!isReachable || (await connections.find(principal.accountId, connectionId)) === undefined) {
        throw connectionNotFound(String(connectionId));
      }
      return narrow(principal, connectionId);
    },
  };
}

/** Returns the connection of an address. Throws a 404 for a malformed id. */
export function connectionIdIn({ id = "" }: PathParameters): number {
  const connectionId = parseServerId(id);
  if (connectionId === undefined) throw routeNotFound();
  return connectionId;
}
