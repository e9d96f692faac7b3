import { Migration } from "@mikro-orm/migrations";

/** Lets every start ask, and not only `keys rewrap`, whether a secret is sealed under a master key that is not held. */
export class IndexSealedVersion extends Migration {
  override up(): void {
    this.addSql(`
      create index connection_sealed_version on connection (substring(sealed_secrets from 2 for 4))
    `);
  }
}
