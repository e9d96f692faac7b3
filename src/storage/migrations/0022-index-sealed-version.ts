import { Migration } from "@mikro-orm/migrations";

/** Indexes the master key version of secrets, so that every start can check for secrets under a missing master key. */
export class IndexSealedVersion extends Migration {
  override up(): void {
    this.addSql(`
      create index connection_sealed_version on connection (substring(sealed_secrets from 2 for 4))
    `);
  }
}
