import { openDatabase } from "../../src/storage/database.ts";
import { migrate } from "../../src/storage/migrate.ts";

// A replica that only migrates its database.
const database = await openDatabase({ url: process.argv[2] ?? "", poolSize: 2 });
await migrate(database.orm);
await database.close();
