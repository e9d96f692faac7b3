import { Migration } from "@mikro-orm/migrations";

/** Ties tokens and sessions to their grant, so that they end when it is revoked. */
export class TieTokensToGrants extends Migration {
  override up(): void {
    this.addSql(`
      alter table revocation drop constraint revocation_kind_check
    `);
    this.addSql(`
      alter table revocation add constraint revocation_kind_check
        check (kind in ('token', 'client', 'connection', 'account', 'grant'))
    `);
    this.addSql(`
      alter table session add column grant_id text
    `);
    this.addSql(`
      create index session_grant on session (account_id, grant_id) where grant_id is not null
    `);
  }
}
