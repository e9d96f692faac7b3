import { type AccountSettingsStore, DEFAULT_SETTINGS } from "../../../connections/settings/account-settings.ts";
import type { SettingsFeed } from "../../../connections/settings/settings-view.ts";
import { AccountSettingEntity } from "../../entities/connections/account-setting.ts";
import { inTransaction, notify, type Orm, withEntities } from "../../orm.ts";
import { lockAccount } from "../identity/account-lock.ts";
import { recordEvent } from "../identity/audit-event.ts";
import { createNotificationFeed, type EventListener } from "./connection-event.ts";

/** The channel that announces every change of settings with its account, on commit. */
const SETTINGS_CHANNEL = "patchbay_account_setting";

/** Settings in PostgreSQL: one row for each account that has changed a setting. */
export function createAccountSettingsStore(orm: Orm): AccountSettingsStore {
  return {
    async find(accountId) {
      const settings = await withEntities(orm, (em) => em.findOne(AccountSettingEntity, { accountId }));
      return { toolSearch: settings?.toolSearch ?? DEFAULT_SETTINGS.toolSearch };
    },
    save: (accountId, { toolSearch }, actor) =>
      inTransaction(orm, async (em) => {
        await lockAccount(em, accountId);
        const known = await em.findOne(AccountSettingEntity, { accountId });
        const settings = known ?? em.create(AccountSettingEntity, { accountId, ...DEFAULT_SETTINGS });
        if (toolSearch !== undefined) settings.toolSearch = toolSearch;
        settings.updatedAt = new Date();
        const object = { accountId, objectType: "account", objectId: accountId, objectName: "" } as const;
        const changed = toolSearch === undefined ? [] : ["tool_search"];
        recordEvent(em, { ...object, action: "account.change_settings", actor, changed });
        await notify(em, SETTINGS_CHANNEL, accountId);
        return { toolSearch: settings.toolSearch };
      }),
  };
}

/** The feed of changed settings. */
export function createSettingsFeed(listener: EventListener): Promise<SettingsFeed> {
  return createNotificationFeed(listener, SETTINGS_CHANNEL, (accountId) => accountId);
}
