import { ConnectionEntity } from "../../entities/connections/connection.ts";
import { type Orm, withEntities } from "../../orm.ts";

/** Lists the connections of all accounts that have definitions from the document at a URL, to refresh them. */
export async function connectionsWithAcceptedDefinitions(
  orm: Orm,
  url: string,
): Promise<readonly { readonly accountId: string; readonly id: number }[]> {
  const isOfSource = { serverType: "openapi", configuration: { spec_url: url } };
  const where = { ...isOfSource, acceptToolChanges: "manual", toolPins: { $ne: null } } as const;
  const options = { fields: ["id"], orderBy: { accountId: "asc", id: "asc" } } as const;
  const rows = await withEntities(orm, (em) => em.find(ConnectionEntity, where, options));
  return rows.map(({ accountId, id }) => ({ accountId, id }));
}
