import type { Caller } from "../../identity/actor.ts";
import { DomainError } from "../../domain-error.ts";
import type { Catalog } from "../../integrations/integration.ts";
import type { ConnectionStore } from "../connection-store.ts";
import { connectionNotFound, reachableId } from "../../identity/server-id.ts";
import type { AuthorizationAddress, AuthorizationAddresses } from "../authorization-address.ts";

/** Returns an address at which the owner authorizes the connection, for the first time or again. */
export type AuthorizeConnection = (caller: Caller, serverId: string) => Promise<AuthorizationAddress>;

/**
 * The connection keeps its tokens until the new authorization replaces them. Throws `not_found`, and `invalid` if the
 * connection cannot use OAuth.
 */
export function createAuthorizeConnection(deps: {
  readonly catalog: Catalog;
  readonly connections: Pick<ConnectionStore, "find">;
  readonly addresses: AuthorizationAddresses;
}): AuthorizeConnection {
  return async (caller, serverId) => {
    const { accountId } = caller;
    const id = reachableId(caller, serverId);
    const connection = id === undefined ? undefined : await deps.connections.find(accountId, id);
    if (connection === undefined) throw connectionNotFound(serverId);
    const { serverType } = connection;
    const integration = deps.catalog.get(serverType);
    if (integration?.clientAuthorization !== undefined)
      throw new DomainError(
        "invalid",
        `Connections of type ${serverType} need no login: with auth_method oauth2 a client of this installation authorizes them.`,
      );
    if (integration?.authorization === undefined)
      throw new DomainError("invalid", `Connections of type ${serverType} cannot be authorized by OAuth here.`);
    const address = await deps.addresses.issue(accountId, connection.id);
    if (address === undefined) throw connectionNotFound(serverId);
    return address;
  };
}
