// Records the requests that swagger-client builds, for reference-requests.test.ts. The package has 141 MB, so it is
// installed only for this script.
import { writeFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { UnsendableArgument } from "../../../src/integrations/openapi/requests/request.ts";
import { argumentsOf } from "./arbitrary.ts";
import { operationsOfDocument, ourRequest, RECORDED_DOCUMENTS, referenceRequest } from "./reference-client.ts";

const SEED = 20_261_121;
/** The maximum number of recorded requests per operation. */
const COUNT = 3;

/** Operations whose requests differ intentionally, with the reason. */
const DIFFERENT: Readonly<Record<string, string>> = {
  upload_employee_file: "swagger-client leaves multipart bodies to FormData, and has no text to compare",
  create_subscription:
    "swagger-client writes a list in deepObject as JSON; Stripe's SDK numbers its places, and so do we",
};

const lines = RECORDED_DOCUMENTS.flatMap((path) => {
  const { document, operations } = operationsOfDocument(path);
  const compared = operations.filter(({ tool }) => DIFFERENT[tool.name] === undefined);
  return compared.flatMap((operation) =>
    fc
      .sample(argumentsOf(operation.tool.inputSchema), { seed: SEED, numRuns: 10 })
      .filter((args, at, all) => all.findIndex((other) => isDeepStrictEqual(other, args)) === at)
      .filter((args) => isSendable(() => ourRequest(operation, args)))
      .slice(0, COUNT)
      .map((args) => ({
        document: path,
        tool: operation.tool.name,
        arguments: args,
        request: referenceRequest(document, operation, args),
      })),
  );
});
writeFileSync(
  new URL("reference-requests.jsonl", import.meta.url),
  lines.map((line) => `${JSON.stringify(line)}\n`).join(""),
);

/** False for arguments that the service rejects: an empty path parameter, or one with dot segments. */
function isSendable(build: () => unknown): boolean {
  try {
    build();
    return true;
  } catch (error) {
    if (error instanceof UnsendableArgument) return false;
    throw error;
  }
}
