import { pino } from "pino";
import { migrate } from "../../src/storage/migrate.ts";

// A replica that only migrates its database.
await migrate(process.argv[2] ?? "", pino({ level: "silent" }));
