import { pino } from "pino";
import { stopUnusedPostgres } from "../embedded-postgres.ts";

// What the watchdog of a process runs when that process is gone.
await stopUnusedPostgres({ dataDir: process.argv[2] ?? "", log: pino({ level: "silent" }) });
