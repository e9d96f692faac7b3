import { globSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";

/** The result of one scenario. */
export interface ScenarioResult {
  readonly scenario: string;
  readonly passed: number;
  /** The ids of the failed checks. */
  readonly failed: readonly string[];
  /** The ids of the checks with warnings. */
  readonly warned: readonly string[];
  /** What the suite says about the failed checks. */
  readonly errors: readonly string[];
}

interface Check {
  readonly id: string;
  readonly status: string;
  readonly errorMessage?: string;
}

/** Reads the results that the suite wrote: `server-<scenario>-<time>/checks.json`, and for clients without prefix. */
export async function readScenarioResults(folder: string): Promise<readonly ScenarioResult[]> {
  const files = globSync("**/checks.json", { cwd: folder }).sort();
  return Promise.all(
    files.map(async (file) => {
      const checks = JSON.parse(await readFile(join(folder, file), "utf8")) as Check[];
      const idsOf = (status: string) => [
        ...new Set(checks.filter((check) => check.status === status).map(({ id }) => id)),
      ];
      return {
        scenario: dirname(file)
          .replace(/^(authorization-)?server-/, "")
          .replace(/-\d{4}-\d{2}-\d{2}T.*$/, ""),
        passed: checks.filter(({ status }) => status === "SUCCESS").length,
        failed: idsOf("FAILURE"),
        warned: idsOf("WARNING"),
        errors: checks.flatMap(({ id, status, errorMessage = "" }) =>
          status === "FAILURE" ? [`${id}: ${errorMessage}`] : [],
        ),
      };
    }),
  );
}
