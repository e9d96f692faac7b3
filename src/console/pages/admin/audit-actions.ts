import type { paths } from "../../../../gen/openapi/patchbay.ts";

type Query = NonNullable<paths["/api/v1/admin/audit-events"]["get"]["parameters"]["query"]>;

/** The actions of the audit log in the contract. */
export type ListedAuditAction = NonNullable<Query["action"]>;

/** A missing action does not compile. */
const EACH: Readonly<Record<ListedAuditAction, true>> = {
  "account.create": true,
  "account.disable": true,
  "account.enable": true,
  "account.end_sessions": true,
  "account.purge": true,
  "account.change_password": true,
  "account.change_settings": true,
  "account.link_identity": true,
  "connection.create": true,
  "connection.update": true,
  "connection.delete": true,
  "connection.authorize": true,
  "connection.accept_tool_changes": true,
  "connection.keep_contents": true,
  "connection.stop_keeping_contents": true,
  "oauth_client.create": true,
  "oauth_client.update": true,
  "oauth_client.rotate_secret": true,
  "oauth_client.revoke": true,
  "personal_access_token.create": true,
  "personal_access_token.rotate": true,
  "personal_access_token.revoke": true,
  "grant.create": true,
  "grant.revoke": true,
  "organization.create": true,
  "organization.rename": true,
  "organization.delete": true,
  "member.add": true,
  "member.change_role": true,
  "member.remove": true,
  "session.login": true,
  "session.logout": true,
  "token.issue": true,
  "webhook.create": true,
  "webhook.update": true,
  "webhook.enable": true,
  "webhook.disable": true,
  "webhook.rotate_secret": true,
  "webhook.resend": true,
  "webhook.delete": true,
  "signing_key.rotate": true,
  "master_key.rewrap": true,
};

export const LISTED_AUDIT_ACTIONS = Object.keys(EACH).filter((word): word is ListedAuditAction => word in EACH);
