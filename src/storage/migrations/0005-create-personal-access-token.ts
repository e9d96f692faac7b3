import { Migration } from "@mikro-orm/migrations";

/** Creates personal access tokens. Only their ids are stored. */
export class CreatePersonalAccessToken extends Migration {
  override up(): void {
    this.addSql(`
      create table personal_access_token (
        account_id text not null references account (id) on delete cascade,
        id text not null,
        client_id text not null,
        name text not null default '',
        scopes text[] not null,
        connection_id integer,
        created_at timestamptz not null default now(),
        expires_at timestamptz,
        revoked_at timestamptz,
        last_used_at timestamptz,
        primary key (account_id, id),
        foreign key (account_id, connection_id) references connection (account_id, id) on delete cascade
      )
    `);
    this.addSql(`
      create index personal_access_token_connection on personal_access_token (account_id, connection_id) where connection_id is not null
    `);
  }
}
