import { pino } from "pino";
import { startEmbeddedPostgres } from "../../src/storage/embedded-postgres.ts";

// Uses the embedded database of a data folder until its standard input ends.
const postgres = await startEmbeddedPostgres({ dataDir: process.argv[2] ?? "", log: pino({ level: "silent" }) });
process.stdout.write(`${postgres.url}\n`);
process.stdin.resume();
process.stdin.once("end", () => void postgres.stop());
