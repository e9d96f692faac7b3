// Fails if a contract breaks the baseline, or contains additions that the baseline does not record yet.
import { readDocument } from "./document.ts";
import { compareWithBaseline } from "./baseline.ts";

const { broken, isRecorded } = compareWithBaseline(await readDocument());
for (const line of broken) console.error(line);
if (broken.length > 0) {
  console.error(
    "These changes break clients of the baseline. If that is intended, run: npm run contract:baseline -- --breaking",
  );
  process.exitCode = 1;
} else if (!isRecorded) {
  console.error("The contract differs from the recorded baseline. Record it: npm run contract:baseline");
  process.exitCode = 1;
}
