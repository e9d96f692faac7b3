import { type Client, createClient, type Transport } from "@connectrpc/connect";
import { AccountSettingsService } from "../../gen/proto/patchbay/v1/account_settings_service_pb.ts";
import { AdminService } from "../../gen/proto/patchbay/v1/admin_service_pb.ts";
import { AuditService } from "../../gen/proto/patchbay/v1/audit_service_pb.ts";
import { ConnectionService } from "../../gen/proto/patchbay/v1/connection_service_pb.ts";
import { GrantService } from "../../gen/proto/patchbay/v1/grant_service_pb.ts";
import { HistoryService } from "../../gen/proto/patchbay/v1/history_service_pb.ts";
import { IntegrationService } from "../../gen/proto/patchbay/v1/integration_service_pb.ts";
import { OAuthClientService } from "../../gen/proto/patchbay/v1/oauth_client_service_pb.ts";
import { OrganizationService } from "../../gen/proto/patchbay/v1/organization_service_pb.ts";
import { PersonalAccessTokenService } from "../../gen/proto/patchbay/v1/personal_access_token_service_pb.ts";
import { RuntimeService } from "../../gen/proto/patchbay/v1/runtime_service_pb.ts";
import { ToolService } from "../../gen/proto/patchbay/v1/tool_service_pb.ts";
import { WebhookService } from "../../gen/proto/patchbay/v1/webhook_service_pb.ts";

/** A client for every service of the RPC contract. */
export interface Clients {
  readonly accountSettings: Client<typeof AccountSettingsService>;
  readonly admin: Client<typeof AdminService>;
  readonly audit: Client<typeof AuditService>;
  readonly connections: Client<typeof ConnectionService>;
  readonly grants: Client<typeof GrantService>;
  readonly history: Client<typeof HistoryService>;
  readonly integrations: Client<typeof IntegrationService>;
  readonly oauthClients: Client<typeof OAuthClientService>;
  readonly organizations: Client<typeof OrganizationService>;
  readonly personalAccessTokens: Client<typeof PersonalAccessTokenService>;
  readonly runtime: Client<typeof RuntimeService>;
  readonly tools: Client<typeof ToolService>;
  readonly webhooks: Client<typeof WebhookService>;
}

/** Creates the clients of all services over one transport. */
export function createClients(transport: Transport): Clients {
  return {
    accountSettings: createClient(AccountSettingsService, transport),
    admin: createClient(AdminService, transport),
    audit: createClient(AuditService, transport),
    connections: createClient(ConnectionService, transport),
    grants: createClient(GrantService, transport),
    history: createClient(HistoryService, transport),
    integrations: createClient(IntegrationService, transport),
    oauthClients: createClient(OAuthClientService, transport),
    organizations: createClient(OrganizationService, transport),
    personalAccessTokens: createClient(PersonalAccessTokenService, transport),
    runtime: createClient(RuntimeService, transport),
    tools: createClient(ToolService, transport),
    webhooks: createClient(WebhookService, transport),
  };
}
