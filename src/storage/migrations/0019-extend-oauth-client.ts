import { Migration } from "@mikro-orm/migrations";

/** Allows clients to use grants other than client credentials, and to rotate their secrets. */
export class ExtendOauthClient extends Migration {
  override up(): void {
    this.addSql(`
      alter table oauth_client
        add column redirect_uris text[] not null default '{}',
        add column grant_types text[] not null default '{client_credentials}',
        add column token_endpoint_auth_method text not null default 'client_secret_basic'
          check (token_endpoint_auth_method in ('client_secret_basic', 'private_key_jwt', 'none')),
        add column jwks jsonb,
        add column jwks_uri text,
        -- The secret before the last rotation, which holds as long as previous_secret_until lies ahead.
        add column previous_secret_hash bytea,
        add column previous_secret_until timestamptz,
        add column secret_rotated_at timestamptz
    `);
    // A replacement token acts as the same client, so that its sessions and history continue.
    this.addSql(`
      alter table personal_access_token add column replaced_by text
    `);
  }
}
