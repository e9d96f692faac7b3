import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

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

/** Reads the results that the suite wrote: `server-<scenario>-<time>/checks.json`. */
export async function readScenarioResults(folder: string): Promise<readonly ScenarioResult[]> {
  const names = (await readdir(folder)).sort();
  return Promise.all(
    names.map(async (name) => {
      const checks = JSON.parse(await readFile(join(folder, name, "checks.json"), "utf8")) as Check[];
      const idsOf = (status: string) => [
        ...new Set(checks.filter((check) => check.status === status).map(({ id }) => id)),
      ];
      return {
        scenario: name.replace(/^(authorization-)?server-/, "").replace(/-\d{4}-\d{2}-\d{2}T.*$/, ""),
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
