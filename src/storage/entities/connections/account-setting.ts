import { defineEntity } from "@mikro-orm/core";
import { owner } from "../identity/owner.ts";

/** The settings of an account. An account with default settings has no row. */
export const AccountSettingEntity = defineEntity({
  name: "AccountSetting",
  properties: (p) => ({
    accountId: owner("account_setting_account_id_fkey").updateRule("no action"),
    toolSearch: p.boolean().default(false),
    updatedAt: p.datetime().defaultRaw("now()"),
  }),
});
