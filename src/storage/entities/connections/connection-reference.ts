import { p } from "@mikro-orm/core";
import { ConnectionEntity } from "./connection.ts";

/** The foreign key to the connection that a row is deleted with; its columns are properties of their own. */
export function connectionReference(foreignKeyName: string) {
  return (
    p
      .manyToOne(ConnectionEntity)
      .mapToPk()
      // Hidden from the types, which would take it for a column beside the properties that hold the key.
      .$type<never>()
      .nullable()
      .joinColumns("account_id", "connection_id")
      .ownColumns()
      .foreignKeyName(foreignKeyName)
      .updateRule("no action")
      .deleteRule("cascade")
  );
}
