import { Migration } from "@mikro-orm/migrations";

/** Creates the grants that people gave to OAuth clients. */
export class CreateOauthGrant extends Migration {
  override up(): void {
    this.addSql(`
      create table oauth_grant (
        account_id text not null references account (id) on delete cascade,
        id text not null,
        -- Of oauth_client, the address of a metadata document, or a client that registered itself.
        client_id text not null,
        -- As the person saw them when they approved.
        client_name text not null,
        redirect_uri text not null,
        scopes text[] not null,
        -- The audience of its tokens.
        resource text not null,
        -- The connections that were chosen; null for all, also those to come.
        connection_ids integer[],
        created_at timestamptz not null default now(),
        last_used_at timestamptz,
        revoked_at timestamptz,
        primary key (account_id, id)
      )
    `);
    this.addSql(`
      create index oauth_grant_id on oauth_grant (id)
    `);
    this.addSql(`
      create index oauth_grant_client on oauth_grant (client_id, account_id) where revoked_at is null
    `);
  }
}
