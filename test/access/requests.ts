import type { JsonObject } from "../../src/json.ts";
import type { CallerName, ObjectName } from "./access-table.ts";
import type { Subjects } from "./subjects.ts";

/** A request of an operation for an object. */
export interface AccessRequest {
  readonly input: JsonObject;
  readonly headers?: Readonly<Record<string, string>>;
}

type MakeRequest = (
  subjects: Subjects,
  caller: CallerName,
  object: ObjectName,
) => AccessRequest | Promise<AccessRequest>;

const nothing: MakeRequest = () => ({ input: {} });
const withInput =
  (input: JsonObject): MakeRequest =>
  () => ({ input });
const ofConnection =
  (more: JsonObject = {}): MakeRequest =>
  ({ connection }, _caller, object) => ({ input: object === "none" ? more : { server_id: connection, ...more } });
const ofClient =
  (more: JsonObject = {}): MakeRequest =>
  async ({ make }, caller, object) => ({ input: { client_id: await make("client", caller, object), ...more } });
const ofToken: MakeRequest = async ({ make }, caller, object) => ({
  input: { token_id: await make("token", caller, object) },
});
const ofOrganization =
  (more: JsonObject = {}): MakeRequest =>
  ({ organization }) => ({ input: { organization_id: organization.id, ...more } });
const ofMember =
  (more: JsonObject = {}): MakeRequest =>
  ({ organization, memberFor }, caller, object) => ({
    input: { organization_id: organization.id, member_id: memberFor(caller, object), ...more },
  });
const ofWebhook =
  (more: JsonObject = {}): MakeRequest =>
  async ({ make }, caller, object) => ({ input: { webhook_id: await make("webhook", caller, object), ...more } });
const ofDelivery: MakeRequest = async ({ make }, caller, object) => ({
  input: { delivery_id: await make("delivery", caller, object) },
});
const ofAccount = withInput({ account_id: "acc_AAAAAAAAAAAAAAAAAAAAAA" });

/** One entry per operation. */
export const REQUESTS: Readonly<Record<string, MakeRequest>> = {
  CreateConnection: withInput({ server_type: "bamboohr", configuration: { company_domain: "acme" } }),
  ListConnections: nothing,
  GetConnection: ofConnection(),
  UpdateConnection: ofConnection({ description: "Changed" }),
  AuthorizeConnection: ofConnection(),
  DeleteConnection: ofConnection(),
  ListConnectionTools: ofConnection(),
  ListToolChanges: ofConnection(),
  AcceptToolChanges: ofConnection({ digest: "something" }),
  WatchConnections: ofConnection(),
  ListIntegrations: nothing,
  GetIntegration: withInput({ server_type: "mcp" }),
  ValidateConfiguration: withInput({ server_type: "bamboohr", configuration: { company_domain: "acme" } }),
  PreviewTools: withInput({ server_type: "bamboohr" }),
  SearchTools: ofConnection({ q: "employee" }),
  GetAccountSettings: nothing,
  UpdateAccountSettings: withInput({ tool_search: false }),
  ListCalls: ofConnection(),
  GetUsage: ofConnection(),
  GetCall: async ({ connection, call }) => ({ input: { server_id: connection, call_id: await call() } }),
  ListConnectionUsage: nothing,
  CreateOAuthClient: withInput({ scopes: ["mcp.read"] }),
  ListOAuthClients: nothing,
  GetOAuthClient: ofClient(),
  UpdateOAuthClient: ofClient({ name: "Changed" }),
  RotateOAuthClientSecret: ofClient(),
  RevokeOAuthClient: ofClient(),
  CreatePersonalAccessToken: withInput({ scopes: ["mcp.read"] }),
  ListPersonalAccessTokens: nothing,
  GetPersonalAccessToken: ofToken,
  RotatePersonalAccessToken: ofToken,
  RevokePersonalAccessToken: ofToken,
  ListAuditEvents: nothing,
  ListGrants: nothing,
  RevokeGrant: async ({ make }, caller, object) => ({ input: { grant_id: await make("grant", caller, object) } }),
  CreateWebhook: withInput({ url: "https://hooks.invalid/", event_types: ["connection.created"] }),
  ListWebhooks: nothing,
  GetWebhook: ofWebhook(),
  UpdateWebhook: ofWebhook({ name: "Changed" }),
  RotateWebhookSecret: ofWebhook(),
  DeleteWebhook: ofWebhook(),
  ListWebhookDeliveries: nothing,
  GetWebhookDelivery: ofDelivery,
  ResendWebhookDelivery: ofDelivery,
  CreateOrganization: withInput({ name: "Another" }),
  ListOrganizations: nothing,
  GetOrganization: ofOrganization(),
  UpdateOrganization: ofOrganization({ name: "Renamed" }),
  DeleteOrganization: ofOrganization(),
  TransferOwnership: ofMember(),
  ListMembers: ofOrganization(),
  UpdateMember: ofMember({ role: "admin" }),
  RemoveMember: ofMember(),
  ListAllAuditEvents: nothing,
  ListAccounts: nothing,
  ListSigningKeys: nothing,
  GetSystemStatus: nothing,
  RotateSigningKeys: withInput({ purpose: "access_token" }),
  CreateAccount: withInput({ email: "nobody@example.com" }),
  GetAccount: ofAccount,
  DisableAccount: ofAccount,
  EnableAccount: ofAccount,
  EndAccountSessions: ofAccount,
  PurgeAccount: ofAccount,
  Initialize: withInput({ protocolVersion: "2025-03-26" }),
  ListTools: async ({ make }, caller, object) => ({
    input: {},
    headers: { "x-session-id": await make("session", caller, object) },
  }),
  CallTool: async ({ make }, caller, object) => ({
    input: { name: "look_up" },
    headers: { "x-session-id": await make("session", caller, object) },
  }),
};

/** Operations that delete or change what later requests need, so that each request gets an organization of its own. */
export const DESTRUCTIVE: ReadonlySet<string> = new Set([
  ...["DeleteConnection", "DeleteOrganization", "TransferOwnership", "UpdateMember", "RemoveMember"],
]);
