// Records the contracts of the working tree as the baseline. Refuses breaking changes without --breaking.
import { readDocument } from "./document.ts";
import { compareWithBaseline, recordBaseline } from "./baseline.ts";

const document = await readDocument();
const { broken } = compareWithBaseline(document);
for (const line of broken) console.error(line);
if (broken.length > 0 && !process.argv.includes("--breaking")) {
  console.error("Baseline not recorded: these changes break clients. If that is intended, add -- --breaking");
  process.exitCode = 1;
} else {
  recordBaseline(document);
}
