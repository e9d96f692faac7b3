import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  type PersonalAccessToken as WireToken,
  PersonalAccessTokenSchema,
} from "../../../../gen/proto/patchbay/v1/personal_access_token_pb.ts";
import type { PersonalAccessToken } from "../../../identity/tokens/personal-access-token.ts";

export function toWirePersonalAccessToken(token: PersonalAccessToken): WireToken {
  const { connectionId, expiresAt, lastUsedAt, revokedAt, replacedBy } = token;
  return create(PersonalAccessTokenSchema, {
    id: token.id,
    clientId: token.clientId,
    name: token.name,
    scopes: [...token.scopes],
    ...(connectionId === undefined ? {} : { mcpServerId: connectionId }),
    createdAt: timestampFromDate(token.createdAt),
    ...(expiresAt === undefined ? {} : { expiresAt: timestampFromDate(expiresAt) }),
    ...(lastUsedAt === undefined ? {} : { lastUsedAt: timestampFromDate(lastUsedAt) }),
    ...(revokedAt === undefined ? {} : { revokedAt: timestampFromDate(revokedAt) }),
    ...(replacedBy === undefined ? {} : { replacedBy }),
  });
}
