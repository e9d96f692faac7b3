import { Migration } from "@mikro-orm/migrations";

/** Creates external identities: who may log in to an account through an OpenID provider. */
export class CreateExternalIdentity extends Migration {
  override up(): void {
    this.addSql(`
      create table external_identity (
        account_id text not null references account (id) on delete cascade,
        issuer text not null,
        subject text not null,
        linked_at timestamptz not null default now(),
        primary key (account_id, issuer, subject)
      )
    `);
    // An identity of a provider logs in to one account only.
    this.addSql(`
      create unique index external_identity_subject on external_identity (issuer, subject)
    `);
  }
}
