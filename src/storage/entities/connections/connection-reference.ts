import { p } from "@mikro-orm/core";
import { ConnectionEntity } from "./connection.ts";

/** The foreign key to a row's connection, with cascading deletion. Its columns are also properties. */
export function connectionReference(foreignKeyName: string) {
  return (
    p
      .manyToOne(ConnectionEntity)
      .mapToPk()
      // Hidden from the types, which would otherwise list it in addition to the properties of the key.
      .$type<never>()
      .nullable()
      .joinColumns("account_id", "connection_id")
      .ownColumns()
      .foreignKeyName(foreignKeyName)
      .updateRule("no action")
      .deleteRule("cascade")
  );
}
