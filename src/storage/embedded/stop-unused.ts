import { pino } from "pino";
import { stopUnusedPostgres } from "../embedded-postgres.ts";

// Run by the watchdog after its process has ended.
await stopUnusedPostgres({ dataDir: process.argv[2] ?? "", log: pino({ level: "silent" }) });
