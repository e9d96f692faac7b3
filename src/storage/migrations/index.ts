import { CreateAccount } from "./0001-create-account.ts";
import { CreateConnection } from "./0002-create-connection.ts";
import { CreateToolList } from "./0003-create-tool-list.ts";
import { CreateOauthClient } from "./0004-create-oauth-client.ts";
import { CreatePersonalAccessToken } from "./0005-create-personal-access-token.ts";
import { CreateRevocation } from "./0006-create-revocation.ts";
import { CreateSigningKey } from "./0007-create-signing-key.ts";
import { CreateInstallation } from "./0008-create-installation.ts";
import { CreateOidcPayload } from "./0009-create-oidc-payload.ts";
import { CreateSession } from "./0010-create-session.ts";
import { CreateCallRecord } from "./0011-create-call-record.ts";
import { ExtendSession } from "./0012-extend-session.ts";
import { CreateOpenapiDocument } from "./0013-create-openapi-document.ts";
import { AddVerifyDueAt } from "./0014-add-verify-due-at.ts";
import { CreateOauthGrant } from "./0015-create-oauth-grant.ts";
import { TieTokensToGrants } from "./0016-tie-tokens-to-grants.ts";
import { CreateLoginSession } from "./0017-create-login-session.ts";
import { CreateExternalIdentity } from "./0018-create-external-identity.ts";
import { ExtendOauthClient } from "./0019-extend-oauth-client.ts";
import { CreateAuditEvent } from "./0020-create-audit-event.ts";
import { ExtendSigningKey } from "./0021-extend-signing-key.ts";
import { CreateToolPin } from "./0023-create-tool-pin.ts";
import { ExtendOpenapiChange } from "./0024-extend-openapi-change.ts";
import { CreateAccountSetting } from "./0025-create-account-setting.ts";
import { CreateIdempotencyKey } from "./0026-create-idempotency-key.ts";
import { ExtendConnectionAuthorization } from "./0027-extend-connection-authorization.ts";
import { CreateAuthorizationRequest } from "./0028-create-authorization-request.ts";
import { CreateConnectionGrant } from "./0029-create-connection-grant.ts";
import { CreateCallContents } from "./0030-create-call-contents.ts";
import { FreeCallRecord } from "./0031-free-call-record.ts";
import { CreateVerification } from "./0032-create-verification.ts";
import { ExpireTokenRevocations } from "./0033-expire-token-revocations.ts";
import { IndexLookups } from "./0034-index-lookups.ts";
import { LeaveRoomForUpdates } from "./0035-leave-room-for-updates.ts";
import { IndexSealedVersion } from "./0022-index-sealed-version.ts";
import { MIGRATION_NAMES } from "./names.ts";

const classes: Readonly<Record<(typeof MIGRATION_NAMES)[number], typeof CreateAccount>> = {
  "0001_create_account": CreateAccount,
  "0002_create_connection": CreateConnection,
  "0003_create_tool_list": CreateToolList,
  "0004_create_oauth_client": CreateOauthClient,
  "0005_create_personal_access_token": CreatePersonalAccessToken,
  "0006_create_revocation": CreateRevocation,
  "0007_create_signing_key": CreateSigningKey,
  "0008_create_installation": CreateInstallation,
  "0009_create_oidc_payload": CreateOidcPayload,
  "0010_create_session": CreateSession,
  "0011_create_call_record": CreateCallRecord,
  "0012_extend_session": ExtendSession,
  "0013_create_openapi_document": CreateOpenapiDocument,
  "0014_add_verify_due_at": AddVerifyDueAt,
  "0015_create_oauth_grant": CreateOauthGrant,
  "0016_tie_tokens_to_grants": TieTokensToGrants,
  "0017_create_login_session": CreateLoginSession,
  "0018_create_external_identity": CreateExternalIdentity,
  "0019_extend_oauth_client": ExtendOauthClient,
  "0020_create_audit_event": CreateAuditEvent,
  "0021_extend_signing_key": ExtendSigningKey,
  "0023_create_tool_pin": CreateToolPin,
  "0024_extend_openapi_change": ExtendOpenapiChange,
  "0025_create_account_setting": CreateAccountSetting,
  "0026_create_idempotency_key": CreateIdempotencyKey,
  "0022_index_sealed_version": IndexSealedVersion,
  "0027_extend_connection_authorization": ExtendConnectionAuthorization,
  "0028_create_authorization_request": CreateAuthorizationRequest,
  "0029_create_connection_grant": CreateConnectionGrant,
  "0030_create_call_contents": CreateCallContents,
  "0031_free_call_record": FreeCallRecord,
  "0032_create_verification": CreateVerification,
  "0033_expire_token_revocations": ExpireTokenRevocations,
  "0034_index_lookups": IndexLookups,
  "0035_leave_room_for_updates": LeaveRoomForUpdates,
};

/** Every migration with its class, in the order of running. */
export const migrations = MIGRATION_NAMES.map((name) => ({ name, class: classes[name] }));
