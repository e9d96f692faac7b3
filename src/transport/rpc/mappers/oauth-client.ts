import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  type OAuthClient as WireClient,
  OAuthClientSchema,
} from "../../../../gen/proto/patchbay/v1/oauth_client_pb.ts";
import type { CreateOAuthClientRequest } from "../../../../gen/proto/patchbay/v1/oauth_client_service_pb.ts";
import type { OAuthClient } from "../../../identity/clients/oauth-client.ts";
import type { NewClientDraft } from "../../../identity/clients/own-clients.ts";

export function fromCreateClientRequest(request: CreateOAuthClientRequest): NewClientDraft {
  return {
    name: request.name,
    scopes: request.scopes,
    redirectUris: request.redirectUris,
    grantTypes: request.grantTypes,
    tokenEndpointAuthMethod: request.tokenEndpointAuthMethod,
    jwks: request.jwks,
    jwksUri: request.jwksUri,
  };
}

export function toWireOAuthClient(client: OAuthClient): WireClient {
  const { jwks, jwksUri, connectionId, secretRotatedAt, previousSecretUntil, revokedAt } = client;
  return create(OAuthClientSchema, {
    clientId: client.id,
    name: client.name,
    scopes: [...client.scopes],
    redirectUris: [...client.redirectUris],
    grantTypes: [...client.grantTypes],
    tokenEndpointAuthMethod: client.tokenEndpointAuthMethod,
    ...(jwks === undefined ? {} : { jwks }),
    ...(jwksUri === undefined ? {} : { jwksUri }),
    ...(connectionId === undefined ? {} : { mcpServerId: connectionId }),
    hasSecret: client.hasSecret,
    createdAt: timestampFromDate(client.createdAt),
    ...(secretRotatedAt === undefined ? {} : { secretRotatedAt: timestampFromDate(secretRotatedAt) }),
    ...(previousSecretUntil === undefined ? {} : { previousSecretExpiresAt: timestampFromDate(previousSecretUntil) }),
    ...(revokedAt === undefined ? {} : { revokedAt: timestampFromDate(revokedAt) }),
  });
}
