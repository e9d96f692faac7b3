import { Migration } from "@mikro-orm/migrations";

/** Creates the state that the OAuth server keeps between requests. No payload contains a secret in plain text. */
export class CreateOidcPayload extends Migration {
  override up(): void {
    this.addSql(`
      create table oidc_payload (
        model text not null,
        id text not null,
        payload jsonb not null,
        grant_id text,
        consumed_at timestamptz,
        expires_at timestamptz,
        primary key (model, id)
      )
    `);
    this.addSql(`
      create index oidc_payload_grant on oidc_payload (grant_id) where grant_id is not null
    `);
    this.addSql(`
      create index oidc_payload_expiry on oidc_payload (expires_at) where expires_at is not null
    `);
  }
}
