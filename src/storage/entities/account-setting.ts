import { defineEntity } from "@mikro-orm/core";
import { AccountEntity } from "./account.ts";

/** What an account's owner decided; an account that decided nothing has no row. */
export const AccountSettingEntity = defineEntity({
  name: "AccountSetting",
  tableName: "account_setting",
  properties: (p) => ({
    account: () =>
      p
        .oneToOne(AccountEntity)
        .primary()
        .mapToPk()
        .joinColumn("account_id")
        .foreignKeyName("account_setting_account_id_fkey")
        .updateRule("no action")
        .deleteRule("cascade"),
    toolSearch: p.boolean().default(false),
    updatedAt: p.datetime().defaultRaw("now()"),
  }),
});
