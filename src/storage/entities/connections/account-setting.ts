import { defineEntity } from "@mikro-orm/core";
import { owner } from "../identity/owner.ts";

/** What an account's owner decided; an account that decided nothing has no row. */
export const AccountSettingEntity = defineEntity({
  name: "AccountSetting",
  properties: (p) => ({
    accountId: owner("account_setting_account_id_fkey").updateRule("no action"),
    toolSearch: p.boolean().default(false),
    updatedAt: p.datetime().defaultRaw("now()"),
  }),
});
