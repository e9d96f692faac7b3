import { p } from "@mikro-orm/core";
import { AccountEntity } from "./account.ts";

/** The account that a row belongs to, first in its key. The row is deleted with it. */
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
