import { parentPort, workerData } from "node:worker_threads";
import { openOrm } from "./orm.ts";

// A thread: migrates the database whose address it is given, and tells which migrations ran.
const orm = await openOrm(String(workerData));
try {
  const ran = await orm.migrator.up();
  parentPort?.postMessage(ran.map(({ name }) => name));
} finally {
  await orm.close();
}
