import { pino } from "pino";
import { startEmbeddedPostgres } from "../../src/storage/embedded-postgres.ts";

// A process that relies on the embedded database of the data folder it is given, until its standard input ends.
const postgres = await startEmbeddedPostgres({ dataDir: process.argv[2] ?? "", log: pino({ level: "silent" }) });
process.stdout.write(`${postgres.url}\n`);
process.stdin.resume();
process.stdin.once("end", () => void postgres.stop());
