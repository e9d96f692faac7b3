import { setTimeout as sleep } from "node:timers/promises";
import { pino } from "pino";
import { openDatabase } from "../../src/storage/database.ts";
import { createJobs } from "../../src/storage/jobs.ts";

// A replica that claims a job from the queue `slow`, prints a line, and never finishes it.
const database = await openDatabase({ url: process.argv[2] ?? "", poolSize: 4 });
const jobs = createJobs({ pool: database.pool, log: pino({ level: "silent" }) });
await jobs.start();
await jobs.work("slow", {}, async () => {
  process.stdout.write("taken\n");
  await sleep(3_600_000);
});
process.stdout.write("ready\n");
