// Fails when a contract breaks a promise of the last landed one, or promises something that is not yet on record.
import { readDocument } from "./document.ts";
import { compareWithLanded } from "./baseline.ts";

const { broken, isRecorded } = compareWithLanded(await readDocument());
for (const line of broken) console.error(line);
if (broken.length > 0) {
  console.error(
    "A client of the last landed contract would break. Where that is meant: npm run contract:land -- --breaking",
  );
  process.exitCode = 1;
} else if (!isRecorded) {
  console.error("The contract grew. Put it on record: npm run contract:land");
  process.exitCode = 1;
}
