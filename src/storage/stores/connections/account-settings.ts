import type pg from "pg";
import {
  DEFAULT_SETTINGS,
  type AccountSettings,
  type AccountSettingsStore,
} from "../../../connections/settings/account-settings.ts";
import type { SettingsFeed } from "../../../connections/settings/settings-view.ts";
import { actorParameter, auditing } from "../identity/audit-event.ts";
import type { EventListener } from "./connection-event.ts";
import { runStatement } from "../run-statement.ts";

/** The channel on which every change of settings is announced with its account, inside its transaction. */
const SETTINGS_CHANNEL = "patchbay_account_setting";

interface SettingsRow {
  tool_search: boolean;
}

const FIND = { name: "account_setting_find", text: "select tool_search from account_setting where account_id = $1" };

const SAVE = {
  name: "account_setting_save",
  text: `with changed as (
      insert into account_setting as setting (account_id, tool_search) values ($1, coalesce($2, ${DEFAULT_SETTINGS.toolSearch}))
      on conflict (account_id) do update set tool_search = coalesce($2, setting.tool_search), updated_at = now()
      returning account_id, tool_search),
    ${auditing(
      {
        action: "account.change_settings",
        objectType: "account",
        objectId: "changed.account_id",
        changed: "case when $2::boolean is null then '{}' else array['tool_search'] end",
      },
      3,
    )}
    select tool_search, pg_notify('${SETTINGS_CHANNEL}', account_id) from changed`,
};

/** Settings in PostgreSQL: a row for each account that ever changed one. */
export function createAccountSettingsStore(pool: pg.Pool): AccountSettingsStore {
  return {
    async find(accountId) {
      return toSettings((await runStatement<SettingsRow>(pool, { ...FIND, values: [accountId] })).rows[0]);
    },
    async save(accountId, { toolSearch }, actor) {
      const values = [accountId, toolSearch, actorParameter(actor)];
      return toSettings((await runStatement<SettingsRow>(pool, { ...SAVE, values })).rows[0]);
    },
  };
}

function toSettings(row: SettingsRow | undefined): AccountSettings {
  return row === undefined ? DEFAULT_SETTINGS : { toolSearch: row.tool_search };
}

/** The feed of settings over PostgreSQL's notifications; a reconnect counts as a gap. */
export async function createSettingsFeed(listener: EventListener): Promise<SettingsFeed> {
  const changes = new Set<(accountId: string) => void>();
  const gaps = new Set<() => void>();
  await listener.listen(SETTINGS_CHANNEL, (accountId) => {
    for (const callback of changes) callback(accountId);
  });
  listener.onReconnect(() => {
    for (const callback of gaps) callback();
  });
  return {
    onChange(callback) {
      changes.add(callback);
      return () => changes.delete(callback);
    },
    onGap(callback) {
      gaps.add(callback);
      return () => gaps.delete(callback);
    },
    isHealthy: () => listener.isHealthy(),
  };
}
