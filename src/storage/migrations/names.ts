/**
 * Every migration in the order of running. A name, once released, never changes; nothing is taken out or put between.
 *
 * Names alone, so that a start that finds them all applied loads neither the migrations nor what runs them.
 */
export const MIGRATION_NAMES = [
  "0001_create_account",
  "0002_create_connection",
  "0003_create_tool_list",
  "0004_create_oauth_client",
  "0005_create_personal_access_token",
  "0006_create_revocation",
  "0007_create_signing_key",
  "0008_create_installation",
  "0009_create_oidc_payload",
  "0010_create_session",
  "0011_create_call_record",
  "0012_extend_session",
  "0013_create_openapi_document",
  "0014_add_verify_due_at",
  "0015_create_oauth_grant",
  "0016_tie_tokens_to_grants",
  "0017_create_login_session",
  "0018_create_external_identity",
  "0019_extend_oauth_client",
  "0020_create_audit_event",
  "0021_extend_signing_key",
  "0022_index_sealed_version",
  "0023_create_tool_pin",
  "0024_extend_openapi_change",
  "0025_create_account_setting",
  "0026_create_idempotency_key",
  "0027_extend_connection_authorization",
  "0028_create_authorization_request",
  "0029_create_connection_grant",
  "0030_create_call_contents",
  "0031_free_call_record",
  "0032_create_verification",
] as const;
