import { create } from "@bufbuild/protobuf";
import { type Timestamp, timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  type Connection as WireConnection,
  type ConnectionDetails,
  ConnectionDetailsSchema,
  ConnectionSchema,
} from "../../../../gen/proto/patchbay/v1/connection_pb.ts";
import {
  type CreateConnectionResponse,
  CreateConnectionResponseSchema,
} from "../../../../gen/proto/patchbay/v1/connection_service_pb.ts";
import type { CreatedConnection } from "../../../connections/create-once.ts";
import type { AuthorizationAddress } from "../../../connections/authorization-address.ts";
import { connectionScopes, connectionStatus, type Connection } from "../../../connections/connection.ts";
import { type AuthMethod, requiresCredential } from "../../../integrations/authentication.ts";
import type { Catalog } from "../../../integrations/integration.ts";

/** The connection as in lists and single reads. */
export function toWireConnection(connection: Connection): WireConnection {
  return create(ConnectionSchema, {
    id: connection.id,
    mcpServerName: connection.name,
    apiKeyVerificationStatus: connection.verificationStatus,
    oauth2ClientId: connection.oauthClientId,
    oauth2Scopes: [...connectionScopes(connection.accessType)],
    agentEnabled: connection.agentEnabled,
    disabledTools: [...connection.disabledToolIds],
    createdAt: timestampFromDate(connection.createdAt),
    accessType: connection.accessType,
    ...(connection.changedTools === 0 ? {} : { pendingToolChanges: connection.changedTools }),
    ...(connection.keepContentsDays === 0 ? {} : { keepContentsDays: connection.keepContentsDays }),
    ...(connection.callIdleSeconds === 0 ? {} : { callIdleSeconds: connection.callIdleSeconds }),
    ...(connection.callMaxSeconds === 0 ? {} : { callMaxSeconds: connection.callMaxSeconds }),
  });
}

export function toWireCreated(created: CreatedConnection): CreateConnectionResponse {
  return create(CreateConnectionResponseSchema, {
    serverId: String(created.id),
    status: created.status,
    serverType: created.serverType,
    name: created.name,
    createdAt: timestampFromDate(created.createdAt),
    ...(created.authorization && toWireAddress(created.authorization)),
  });
}

export function toWireAddress({ url, expiresAt }: AuthorizationAddress): {
  readonly authorizationUrl: string;
  readonly authorizationUrlExpiresAt: Timestamp;
} {
  return { authorizationUrl: url, authorizationUrlExpiresAt: timestampFromDate(expiresAt) };
}

/** The connection as in watches and lists with the view `detailed`. */
export function toWireListed(connection: Connection): WireConnection {
  const listed = toWireConnection(connection);
  listed.serverType = connection.serverType;
  listed.status = connectionStatus(connection);
  listed.alias = connection.alias;
  if (connection.statusReason !== undefined) listed.statusReason = connection.statusReason;
  return listed;
}

/** The connection in the detailed shape. */
export function toWireDetails(connection: Connection, catalog: Catalog): ConnectionDetails {
  return create(ConnectionDetailsSchema, {
    connectionId: String(connection.id),
    mcpServerId: String(connection.id),
    serverType: connection.serverType,
    name: connection.name,
    description: connection.description,
    status: connectionStatus(connection),
    ...(connection.statusReason === undefined ? {} : { statusReason: connection.statusReason }),
    authMethod: authMethod(connection, catalog),
    oauth2ClientId: connection.oauthClientId,
    oauth2Scopes: [...connectionScopes(connection.accessType)],
    config: connection.configuration,
    createdAt: timestampFromDate(connection.createdAt),
    updatedAt: timestampFromDate(connection.updatedAt),
    acceptToolChanges: connection.acceptToolChanges,
    pendingToolChanges: connection.changedTools,
    keepContentsDays: connection.keepContentsDays,
    ...(connection.callIdleSeconds === 0 ? {} : { callIdleSeconds: connection.callIdleSeconds }),
    ...(connection.callMaxSeconds === 0 ? {} : { callMaxSeconds: connection.callMaxSeconds }),
    alias: connection.alias,
  });
}

function authMethod(connection: Connection, catalog: Catalog): AuthMethod {
  if (connection.authMethod === "oauth2") return "oauth2";
  if (connection.hasCredential) return "api_key";
  const integration = catalog.get(connection.serverType);
  return integration !== undefined && requiresCredential(integration) ? "api_key" : "none";
}
