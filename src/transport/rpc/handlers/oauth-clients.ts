import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  CreateOAuthClientResponseSchema,
  GetOAuthClientResponseSchema,
  ListOAuthClientsResponseSchema,
  type OAuthClientService,
  RevokeOAuthClientResponseSchema,
  RotateOAuthClientSecretResponseSchema,
  UpdateOAuthClientResponseSchema,
} from "../../../../gen/proto/patchbay/v1/oauth_client_service_pb.ts";
import type { OwnClients } from "../../../identity/clients/own-clients.ts";
import type { CallerOf } from "../caller.ts";
import { fromCreateClientRequest, toWireOAuthClient } from "../mappers/oauth-client.ts";
import { fromUpdateClientRequest } from "../mappers/oauth-client-change.ts";
import { principalOf } from "../principal.ts";

/** Handlers of OAuthClientService. */
export function createOAuthClientHandlers(
  clients: OwnClients,
  callerOf: CallerOf,
): ServiceImpl<typeof OAuthClientService> {
  return {
    async createOAuthClient(request, context) {
      const { client, clientSecret } = await clients.create(callerOf(context), fromCreateClientRequest(request));
      context.responseHeader.set("Location", `/api/v1/oauth-clients/${client.id}`);
      return create(CreateOAuthClientResponseSchema, {
        success: true,
        data: toWireOAuthClient(client),
        ...(clientSecret === undefined ? {} : { clientSecret }),
      });
    },

    async listOAuthClients({ limit, offset, includeRevoked }, context) {
      const listed = await clients.list(principalOf(context), { limit, offset, includeRevoked });
      const { totalCount, hasMore } = listed;
      const data = listed.clients.map(toWireOAuthClient);
      return create(ListOAuthClientsResponseSchema, { success: true, data, totalCount, hasMore });
    },

    async getOAuthClient({ clientId }, context) {
      const client = await clients.get(principalOf(context), clientId);
      return create(GetOAuthClientResponseSchema, { success: true, data: toWireOAuthClient(client) });
    },

    async updateOAuthClient(request, context) {
      const client = await clients.update(callerOf(context), request.clientId, fromUpdateClientRequest(request));
      return create(UpdateOAuthClientResponseSchema, { success: true, data: toWireOAuthClient(client) });
    },

    async rotateOAuthClientSecret({ clientId, graceSeconds }, context) {
      const { client, clientSecret } = await clients.rotateSecret(callerOf(context), clientId, graceSeconds);
      return create(RotateOAuthClientSecretResponseSchema, {
        success: true,
        data: toWireOAuthClient(client),
        ...(clientSecret === undefined ? {} : { clientSecret }),
      });
    },

    async revokeOAuthClient({ clientId }, context) {
      await clients.revoke(callerOf(context), clientId);
      return create(RevokeOAuthClientResponseSchema, { success: true, message: "OAuth client revoked" });
    },
  };
}
