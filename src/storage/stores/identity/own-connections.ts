import { ConnectionEntity } from "../../entities/connections/connection.ts";
import { type Orm, withEntities } from "../../orm.ts";
import type { OwnConnections } from "../../../identity/oauth/own-connections.ts";

/** The ids and names of an account's connections. */
export function createOwnConnections(orm: Orm): OwnConnections {
  return {
    async list(accountId) {
      const options = { fields: ["id", "name", "serverType"], orderBy: { id: "asc" } } as const;
      const rows = await withEntities(orm, (em) => em.find(ConnectionEntity, { accountId }, options));
      return rows.map(({ id, name, serverType }) => ({ id, name, serverType }));
    },
  };
}
