import { p } from "@mikro-orm/core";
import { AccountEntity } from "./account.ts";

/** The account that a row belongs to and is deleted with; first in the row's key. */
export function owner(foreignKeyName: string) {
  return p
    .manyToOne(AccountEntity)
    .mapToPk()
    .primary()
    .joinColumn("account_id")
    .fieldName("account_id")
    .foreignKeyName(foreignKeyName)
    .deleteRule("cascade");
}
