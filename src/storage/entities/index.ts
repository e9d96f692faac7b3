import { AccountEntity } from "./account.ts";
import { AuditEventEntity } from "./audit-event.ts";
import { AccountSettingEntity } from "./account-setting.ts";
import { AuthorizationRequestEntity } from "./authorization-request.ts";
import { CallRecordEntity } from "./call-record.ts";
import { ConnectionEntity } from "./connection.ts";
import { ConnectionGrantEntity } from "./connection-grant.ts";
import { ConnectionTombstoneEntity } from "./connection-tombstone.ts";
import { ExternalIdentityEntity } from "./external-identity.ts";
import { IdempotencyKeyEntity } from "./idempotency-key.ts";
import { InstallationEntity } from "./installation.ts";
import { CallContentsEntity } from "./call-contents.ts";
import { LoginFailureEntity } from "./login-failure.ts";
import { LoginSessionEntity } from "./login-session.ts";
import { OauthClientEntity } from "./oauth-client.ts";
import { OauthGrantEntity } from "./oauth-grant.ts";
import { OidcPayloadEntity } from "./oidc-payload.ts";
import { OpenapiChangeEntity } from "./openapi-change.ts";
import { OpenapiDocumentEntity } from "./openapi-document.ts";
import { OpenapiSourceEntity } from "./openapi-source.ts";
import { PersonalAccessTokenEntity } from "./personal-access-token.ts";
import { RevocationEntity } from "./revocation.ts";
import { SessionEntity } from "./session.ts";
import { SigningKeyEntity } from "./signing-key.ts";
import { ToolDefinitionEntity } from "./tool-definition.ts";
import { ToolListEntity } from "./tool-list.ts";
import { ToolNameEntity } from "./tool-name.ts";
import { ToolPinSetEntity } from "./tool-pin-set.ts";
import { UpstreamClientEntity } from "./upstream-client.ts";
import { VerificationEntity } from "./verification.ts";

/** Every entity the ORM maps; one for each table of ours. */
export const entities = [
  AccountEntity,
  AuditEventEntity,
  AccountSettingEntity,
  AuthorizationRequestEntity,
  CallRecordEntity,
  ConnectionEntity,
  ConnectionGrantEntity,
  ConnectionTombstoneEntity,
  ExternalIdentityEntity,
  IdempotencyKeyEntity,
  InstallationEntity,
  CallContentsEntity,
  LoginFailureEntity,
  LoginSessionEntity,
  OauthClientEntity,
  OauthGrantEntity,
  OidcPayloadEntity,
  OpenapiChangeEntity,
  OpenapiDocumentEntity,
  OpenapiSourceEntity,
  PersonalAccessTokenEntity,
  RevocationEntity,
  SessionEntity,
  SigningKeyEntity,
  ToolDefinitionEntity,
  ToolListEntity,
  ToolNameEntity,
  ToolPinSetEntity,
  UpstreamClientEntity,
  VerificationEntity,
];
