import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { type Grant as WireGrant, GrantSchema } from "../../../../gen/proto/patchbay/v1/grant_pb.ts";
import type { OAuthGrant } from "../../../identity/grants/grants.ts";

export function toWireGrant(grant: OAuthGrant): WireGrant {
  const { connectionIds, lastUsedAt } = grant;
  return create(GrantSchema, {
    id: grant.id,
    clientId: grant.clientId,
    clientName: grant.clientName,
    redirectUri: grant.redirectUri,
    scopes: [...grant.scopes],
    resource: grant.resource,
    allConnections: connectionIds === undefined,
    mcpServerIds: [...(connectionIds ?? [])],
    createdAt: timestampFromDate(grant.createdAt),
    ...(lastUsedAt === undefined ? {} : { lastUsedAt: timestampFromDate(lastUsedAt) }),
  });
}
