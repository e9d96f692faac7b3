import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type GrantService,
  ListGrantsResponseSchema,
  RevokeGrantResponseSchema,
} from "../../../../gen/proto/patchbay/v1/grant_service_pb.ts";
import type { OwnGrants } from "../../../identity/grants/own-grants.ts";
import type { CallerOf } from "../caller.ts";
import { toWireGrant } from "../mappers/grant.ts";
import { principalOf } from "../principal.ts";

/** Handlers of GrantService. */
export function createGrantHandlers(grants: OwnGrants, callerOf: CallerOf): ServiceImpl<typeof GrantService> {
  return {
    async listGrants(_request, context) {
      const listed = await grants.list(principalOf(context));
      return create(ListGrantsResponseSchema, { success: true, data: listed.map(toWireGrant) });
    },

    async revokeGrant({ grantId }, context) {
      await grants.revoke(callerOf(context), grantId);
      return create(RevokeGrantResponseSchema, { success: true, message: "Grant revoked" });
    },
  };
}
