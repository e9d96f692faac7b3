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

/** Every migration in the order of running. A name, once released, never changes; nothing is taken out or put between. */
export const migrations = [
  { name: "0001_create_account", class: CreateAccount },
  { name: "0002_create_connection", class: CreateConnection },
  { name: "0003_create_tool_list", class: CreateToolList },
  { name: "0004_create_oauth_client", class: CreateOauthClient },
  { name: "0005_create_personal_access_token", class: CreatePersonalAccessToken },
  { name: "0006_create_revocation", class: CreateRevocation },
  { name: "0007_create_signing_key", class: CreateSigningKey },
  { name: "0008_create_installation", class: CreateInstallation },
  { name: "0009_create_oidc_payload", class: CreateOidcPayload },
  { name: "0010_create_session", class: CreateSession },
  { name: "0011_create_call_record", class: CreateCallRecord },
];
