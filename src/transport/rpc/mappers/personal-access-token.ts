import { create } from "@bufbuild/protobuf";
import {
  type PersonalAccessToken as WireToken,
  PersonalAccessTokenSchema,
} from "../../../../gen/proto/patchbay/v1/personal_access_token_pb.ts";
import type { PersonalAccessToken } from "../../../identity/tokens/personal-access-token.ts";

/** What is known of a token, field by field. */
export function toWirePersonalAccessToken(token: PersonalAccessToken): WireToken {
  const { connectionId, expiresAt, lastUsedAt, revokedAt, replacedBy } = token;
  return create(PersonalAccessTokenSchema, {
    id: token.id,
    clientId: token.clientId,
    name: token.name,
    scopes: [...token.scopes],
    ...(connectionId === undefined ? {} : { mcpServerId: connectionId }),
    createdAt: token.createdAt.toISOString(),
    ...(expiresAt === undefined ? {} : { expiresAt: expiresAt.toISOString() }),
    ...(lastUsedAt === undefined ? {} : { lastUsedAt: lastUsedAt.toISOString() }),
    ...(revokedAt === undefined ? {} : { revokedAt: revokedAt.toISOString() }),
    ...(replacedBy === undefined ? {} : { replacedBy }),
  });
}
