// Puts the contracts of the working tree on record as landed. Refuses broken promises unless told that they are meant.
import { readDocument } from "./document.ts";
import { compareWithLanded, recordAsLanded } from "./baseline.ts";

const document = await readDocument();
const { broken } = compareWithLanded(document);
for (const line of broken) console.error(line);
if (broken.length > 0 && !process.argv.includes("--breaking")) {
  console.error(
    "Nothing recorded: a client of the last landed contract would break. Where that is meant, add -- --breaking",
  );
  process.exitCode = 1;
} else {
  recordAsLanded(document);
}
