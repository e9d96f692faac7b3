import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** How one scenario ended. */
export interface ScenarioResult {
  readonly scenario: string;
  readonly passed: number;
  /** The ids of the checks that failed. */
  readonly failed: readonly string[];
  /** The ids of the checks that warned. */
  readonly warned: readonly string[];
}

interface Check {
  readonly id: string;
  readonly status: string;
}

/** Reads what the suite wrote of each scenario: `server-<scenario>-<time>/checks.json`. */
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
      };
    }),
  );
}
