import { Migration } from "@mikro-orm/migrations";

/**
 * Adds an expiry to revocations of personal access tokens. A replica reads such a token from the database once a minute
 * and then finds it revoked. The index includes rows without an expiry, so that a reload reads only current rows.
 */
export class ExpireTokenRevocations extends Migration {
  override up(): void {
    this.addSql(`
      update revocation set expires_at = now() + interval '1 hour 10 minutes' where kind = 'token' and expires_at is null
    `);
    this.addSql("drop index revocation_expiry");
    this.addSql("create index revocation_expiry on revocation (expires_at)");
  }
}
