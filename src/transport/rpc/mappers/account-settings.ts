import { create } from "@bufbuild/protobuf";
import {
  type AccountSettings as WireAccountSettings,
  AccountSettingsSchema,
} from "../../../../gen/proto/patchbay/v1/account_settings_pb.ts";
import type { AccountSettings } from "../../../connections/settings/account-settings.ts";

export function toWireAccountSettings({ toolSearch }: AccountSettings): WireAccountSettings {
  return create(AccountSettingsSchema, { toolSearch });
}
