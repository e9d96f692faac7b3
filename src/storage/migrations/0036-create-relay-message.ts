import { Migration } from "@mikro-orm/migrations";

/** Creates encrypted messages between replicas, which are kept for seconds. */
export class CreateRelayMessage extends Migration {
  override up(): void {
    this.addSql(`
      create table relay_message (
        account_id text not null,
        address text not null,
        id text not null,
        sealed_text bytea not null,
        expires_at timestamptz not null,
        primary key (account_id, address, id),
        constraint relay_message_account_id_fkey foreign key (account_id) references account (id) on delete cascade
      )
    `);
    this.addSql("create index relay_message_expiry on relay_message (expires_at)");
    this.addSql(`
      create index relay_message_sealed_version on relay_message (substring(sealed_text from 2 for 4))
    `);
  }
}
