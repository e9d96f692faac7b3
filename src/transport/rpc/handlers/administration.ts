import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type AdminService,
  CreateAccountResponseSchema,
  DisableAccountResponseSchema,
  EnableAccountResponseSchema,
  EndAccountSessionsResponseSchema,
  GetAccountResponseSchema,
  GetSystemStatusResponseSchema,
  ListAccountsResponseSchema,
  ListSigningKeysResponseSchema,
  PurgeAccountResponseSchema,
  RotateSigningKeysResponseSchema,
} from "../../../../gen/proto/patchbay/v1/admin_service_pb.ts";
import { toActor } from "../../../identity/actor.ts";
import type { Administration } from "../../../identity/accounts/administration.ts";
import type { KeyRotation } from "../../../identity/keys/key-rotation.ts";
import type { ReadSystemStatus } from "../../../identity/system-status.ts";
import type { CallerOf } from "../caller.ts";
import { fromPurpose, toWireAccount, toWireSigningKey, toWireSystemStatus } from "../mappers/administration.ts";

export interface AdministrationHandlerDeps {
  readonly administration: Administration;
  readonly keyRotation: Pick<KeyRotation, "list" | "rotate">;
  readonly readStatus: ReadSystemStatus;
  readonly callerOf: CallerOf;
}

/** Handlers of AdminService. */
export function createAdministrationHandlers(deps: AdministrationHandlerDeps): ServiceImpl<typeof AdminService> {
  const { administration, keyRotation, readStatus, callerOf } = deps;
  return {
    async listAccounts({ query, status, limit, offset }) {
      const listed = await administration.list({ query, status, limit, offset });
      const { totalCount, hasMore } = listed;
      const data = listed.accounts.map(toWireAccount);
      return create(ListAccountsResponseSchema, { success: true, data, totalCount, hasMore });
    },

    async createAccount({ email, isAdmin = false }, context) {
      const { account, password } = await administration.create(callerOf(context), { email, isAdmin });
      context.responseHeader.set("Location", `/api/v1/admin/accounts/${account.id}`);
      return create(CreateAccountResponseSchema, { success: true, data: toWireAccount(account), password });
    },

    async getAccount({ accountId }) {
      const account = await administration.get(accountId);
      return create(GetAccountResponseSchema, { success: true, data: toWireAccount(account) });
    },

    async disableAccount({ accountId }, context) {
      const account = await administration.disable(callerOf(context), accountId);
      return create(DisableAccountResponseSchema, { success: true, data: toWireAccount(account) });
    },

    async enableAccount({ accountId }, context) {
      const account = await administration.enable(callerOf(context), accountId);
      return create(EnableAccountResponseSchema, { success: true, data: toWireAccount(account) });
    },

    async endAccountSessions({ accountId }, context) {
      await administration.endSessions(callerOf(context), accountId);
      return create(EndAccountSessionsResponseSchema, { success: true, message: "Sessions ended" });
    },

    async purgeAccount({ accountId }, context) {
      await administration.purge(callerOf(context), accountId);
      return create(PurgeAccountResponseSchema, { success: true, message: "Account purged" });
    },

    async listSigningKeys() {
      const keys = await keyRotation.list();
      return create(ListSigningKeysResponseSchema, { success: true, data: keys.map(toWireSigningKey) });
    },

    async rotateSigningKeys({ purpose, force = false }, context) {
      const request = { purpose: fromPurpose(purpose), isForced: force };
      const keys = await keyRotation.rotate(request, toActor(callerOf(context)));
      return create(RotateSigningKeysResponseSchema, { success: true, data: keys.map(toWireSigningKey) });
    },

    async getSystemStatus() {
      return create(GetSystemStatusResponseSchema, { success: true, data: toWireSystemStatus(await readStatus()) });
    },
  };
}
