import { Migration } from "@mikro-orm/migrations";

/**
 * Gives the revocations of personal access tokens an end, as all others have: replicas look such a token up once a minute, and
 * then find it revoked. The index covers rows without an end too, so that a reload reads what is in force alone.
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
