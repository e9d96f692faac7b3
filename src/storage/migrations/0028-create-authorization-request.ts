import { Migration } from "@mikro-orm/migrations";

/** Creates pending authorizations of connections, from the authorization URL to the vendor's response. */
export class CreateAuthorizationRequest extends Migration {
  override up(): void {
    this.addSql(`
      create table authorization_request (
        account_id text not null,
        id text not null,
        connection_id integer not null,
        ticket_hash bytea not null,
        expires_at timestamptz not null,
        -- From here on set once the owner has gone to the third party: the browser in which they did,
        session_id text,
        -- what the third party's answer names it by,
        state_hash bytea,
        -- the version of the connection's key at that moment,
        key_version integer,
        -- and the terms with the PKCE verifier.
        sealed_flow bytea,
        primary key (account_id, id),
        constraint authorization_request_connection_fkey foreign key (account_id, connection_id)
          references connection (account_id, id) on delete cascade
      )
    `);
    this.addSql("create unique index authorization_request_ticket on authorization_request (account_id, ticket_hash)");
    this.addSql("create unique index authorization_request_state on authorization_request (account_id, state_hash)");
    this.addSql("create index authorization_request_connection on authorization_request (account_id, connection_id)");
    this.addSql("create index authorization_request_expiry on authorization_request (expires_at)");
    this.addSql(`
      create index authorization_request_sealed_version on authorization_request (substring(sealed_flow from 2 for 4))
    `);
  }
}
