import { openDatabase } from "../../src/storage/database.ts";
import { parseMasterKeys } from "../../src/storage/master-keys.ts";
import { rewrapSecrets } from "../../src/storage/rewrap.ts";
import { createSealer } from "../../src/storage/sealing.ts";

// Rewraps every secret of a database to the newest master key, repeatedly until it is killed.
const [url = "", keys = ""] = process.argv.slice(2);
const database = await openDatabase({ url, poolSize: 2 });
const sealer = createSealer(parseMasterKeys(keys));
for (;;) {
  await rewrapSecrets(database.pool, sealer);
}
