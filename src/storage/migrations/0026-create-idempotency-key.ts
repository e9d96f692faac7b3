import { Migration } from "@mikro-orm/migrations";

/** Creates idempotency keys with their results, so that a repeated request gets the first response. */
export class CreateIdempotencyKey extends Migration {
  override up(): void {
    this.addSql(`
      create table idempotency_key (
        account_id text not null references account (id) on delete cascade,
        key text not null,
        -- Keyed hash of everything that was asked for: the request may hold secrets.
        request_hash bytea not null,
        -- The answer. No reference: it stands even when the connection is gone, so that no late repetition makes another.
        connection_id integer not null,
        server_type text not null,
        name text not null,
        status text not null check (status in ('active', 'disabled', 'needs_authorization', 'error')),
        created_at timestamptz not null,
        expires_at timestamptz not null,
        primary key (account_id, key)
      )
    `);
    this.addSql("create index idempotency_key_expires_at_idx on idempotency_key (expires_at)");
  }
}
