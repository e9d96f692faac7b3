import type { Orm } from "../storage/orm.ts";
import { createSettingsOfAccount, type SettingsOfAccount } from "../connections/settings/account-settings.ts";
import type { ConnectionTools } from "../connections/connection-tools.ts";
import type { ConnectionView } from "../connections/connection-view.ts";
import { createToolRanking, type ToolRanking } from "../runtime/search/rank-tools.ts";
import { createToolSearch, type ToolSearch } from "../runtime/search/search-tools.ts";
import { createSettingsView, type SettingsFeed, type SettingsView } from "../connections/settings/settings-view.ts";
import { createAccountSettingsStore, createSettingsFeed } from "../storage/stores/connections/account-settings.ts";
import type { EventListener } from "../storage/stores/connections/connection-event.ts";

/** Tool search, and the setting that enables it for agents. */
export interface ToolDiscovery {
  readonly ranking: ToolRanking;
  readonly search: ToolSearch;
  readonly settings: SettingsOfAccount;
  readonly settingsView: SettingsView;
  readonly settingsFeed: SettingsFeed;
}

export async function composeToolDiscovery(deps: {
  readonly orm: Orm;
  readonly listener: EventListener;
  readonly connections: ConnectionView;
  readonly tools: ConnectionTools;
}): Promise<ToolDiscovery> {
  const store = createAccountSettingsStore(deps.orm);
  const settingsFeed = await createSettingsFeed(deps.listener);
  const settingsView = createSettingsView({ store, feed: settingsFeed });
  const ranking = createToolRanking();
  return {
    ranking,
    search: createToolSearch({ ...deps, ranking }),
    settings: createSettingsOfAccount({ store, onChange: (accountId) => settingsView.forget(accountId) }),
    settingsView,
    settingsFeed,
  };
}
