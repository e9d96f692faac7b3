import { Migration } from "@mikro-orm/migrations";

/** Creates the tokens that vendors issued for owner logins, and the service's clients at authorization servers. */
export class CreateConnectionGrant extends Migration {
  override up(): void {
    this.addSql(`
      create table connection_grant (
        -- No foreign keys: tokens whose connection or account is gone are still to be revoked at their third party.
        account_id text not null,
        id text not null,
        connection_id integer not null,
        -- Through what the third party is reached.
        server_type text not null,
        -- The version of the connection's key that the tokens came with: none of a later one is theirs to use.
        key_version integer not null,
        -- The tokens, and with what they are renewed and revoked.
        sealed_grant bytea not null,
        -- Grows with every renewal, so that whoever waited for one sees that it has happened.
        version integer not null default 1,
        -- Why the authorization server takes the tokens no longer.
        lost_reason text,
        created_at timestamptz not null default now(),
        renewed_at timestamptz not null default now(),
        -- From when nothing uses the tokens any more.
        ended_at timestamptz,
        primary key (account_id, id)
      )
    `);
    this.addSql(`
      create unique index connection_grant_in_force on connection_grant (account_id, connection_id) where ended_at is null
    `);
    this.addSql(`
      create index connection_grant_ended on connection_grant (ended_at) where ended_at is not null
    `);
    this.addSql(`
      create index connection_grant_sealed_version on connection_grant (substring(sealed_grant from 2 for 4))
    `);
    this.addSql(`
      create table upstream_client (
        -- Of the authorization server's issuer and our redirect address: a hash, because addresses may be long.
        id text primary key,
        sealed_client bytea not null,
        -- When the server forgets the client; null for never.
        expires_at timestamptz,
        created_at timestamptz not null default now()
      )
    `);
  }
}
