import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  CreatePersonalAccessTokenResponseSchema,
  GetPersonalAccessTokenResponseSchema,
  ListPersonalAccessTokensResponseSchema,
  type PersonalAccessTokenService,
  RevokePersonalAccessTokenResponseSchema,
  RotatePersonalAccessTokenResponseSchema,
} from "../../../../gen/proto/patchbay/v1/personal_access_token_service_pb.ts";
import type { OwnTokens } from "../../../identity/tokens/own-tokens.ts";
import type { CallerOf } from "../caller.ts";
import { toWirePersonalAccessToken } from "../mappers/personal-access-token.ts";
import { fromWireTimestamp } from "../mappers/timestamp.ts";
import { principalOf } from "../principal.ts";

/** Handlers of PersonalAccessTokenService. */
export function createPersonalAccessTokenHandlers(
  tokens: OwnTokens,
  callerOf: CallerOf,
): ServiceImpl<typeof PersonalAccessTokenService> {
  return {
    async createPersonalAccessToken(request, context) {
      const { name, scopes, serverId, expiresInDays } = request;
      const expiresAt = fromWireTimestamp("expires_at", request.expiresAt);
      const draft = { name, scopes, serverId, expiresAt, expiresInDays };
      const { token, text } = await tokens.create(callerOf(context), draft);
      context.responseHeader.set("Location", `/api/v1/personal-access-tokens/${token.id}`);
      const data = toWirePersonalAccessToken(token);
      return create(CreatePersonalAccessTokenResponseSchema, { success: true, data, token: text });
    },

    async listPersonalAccessTokens({ limit, offset, includeEnded }, context) {
      const listed = await tokens.list(principalOf(context), { limit, offset, includeEnded });
      const { totalCount, hasMore } = listed;
      const data = listed.tokens.map(toWirePersonalAccessToken);
      return create(ListPersonalAccessTokensResponseSchema, { success: true, data, totalCount, hasMore });
    },

    async getPersonalAccessToken({ tokenId }, context) {
      const token = await tokens.get(principalOf(context), tokenId);
      return create(GetPersonalAccessTokenResponseSchema, { success: true, data: toWirePersonalAccessToken(token) });
    },

    async rotatePersonalAccessToken({ tokenId, graceSeconds }, context) {
      const { token, text } = await tokens.rotate(callerOf(context), tokenId, graceSeconds);
      const data = toWirePersonalAccessToken(token);
      return create(RotatePersonalAccessTokenResponseSchema, { success: true, data, token: text });
    },

    async revokePersonalAccessToken({ tokenId }, context) {
      await tokens.revoke(callerOf(context), tokenId);
      return create(RevokePersonalAccessTokenResponseSchema, {
        success: true,
        message: "Personal access token revoked",
      });
    },
  };
}
