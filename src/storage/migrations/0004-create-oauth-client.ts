import { Migration } from "@mikro-orm/migrations";

/** Creates OAuth clients of people and of connections. */
export class CreateOauthClient extends Migration {
  override up(): void {
    this.addSql(`
      create table oauth_client (
        account_id text not null references account (id) on delete cascade,
        id text not null,
        connection_id integer,
        name text not null default '',
        secret_hash bytea,
        scopes text[] not null,
        created_at timestamptz not null default now(),
        revoked_at timestamptz,
        primary key (account_id, id),
        foreign key (account_id, connection_id) references connection (account_id, id) on delete cascade
      )
    `);
    this.addSql(`
      create index oauth_client_id on oauth_client (id)
    `);
    this.addSql(`
      create index oauth_client_connection on oauth_client (account_id, connection_id) where connection_id is not null
    `);
  }
}
