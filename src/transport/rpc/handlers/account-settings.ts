import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type AccountSettingsService,
  GetAccountSettingsResponseSchema,
  UpdateAccountSettingsResponseSchema,
} from "../../../../gen/proto/patchbay/v1/account_settings_service_pb.ts";
import type { SettingsOfAccount } from "../../../connections/settings/account-settings.ts";
import type { CallerOf } from "../caller.ts";
import { toWireAccountSettings } from "../mappers/account-settings.ts";
import { principalOf } from "../principal.ts";

/** Handlers of AccountSettingsService. */
export function createAccountSettingsHandlers(
  settings: SettingsOfAccount,
  callerOf: CallerOf,
): ServiceImpl<typeof AccountSettingsService> {
  return {
    async getAccountSettings(_request, context) {
      const found = await settings.get(principalOf(context));
      return create(GetAccountSettingsResponseSchema, { success: true, data: toWireAccountSettings(found) });
    },

    async updateAccountSettings({ toolSearch }, context) {
      const saved = await settings.update(callerOf(context), { toolSearch });
      return create(UpdateAccountSettingsResponseSchema, { success: true, data: toWireAccountSettings(saved) });
    },
  };
}
