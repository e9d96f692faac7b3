import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runChild } from "../support/child-process.ts";
import type { AuthorizationOutcome } from "./authorization.ts";
import { readScenarioResults } from "./scenario-results.ts";

/** The required scenarios. */
const SCENARIOS = ["metadata-default", "metadata-var1", "metadata-var2", "metadata-var3", "scope-step-up"];

/**
 * Runs the suite's scenarios for clients that log in at MCP servers, with `oauth-client.ts` as the client. `suite` is
 * the suite's script.
 */
export async function runOAuthClientSuite(suite: string): Promise<AuthorizationOutcome> {
  const folder = await mkdtemp(join(tmpdir(), "patchbay-oauth-client-"));
  const here = new URL(".", import.meta.url).pathname;
  try {
    const { code, output } = await runChild({
      command: process.execPath,
      args: [
        ...[suite, "client", "--suite", "auth", "--command", `${process.execPath} ${here}oauth-client.ts`],
        ...["--expected-failures", `${here}expected-failures.oauth-client.yaml`, "-o", folder],
      ],
    });
    const results = await readScenarioResults(join(folder, "auth"));
    const missing = SCENARIOS.filter(
      (name) => !results.some(({ scenario, passed, failed }) => scenario === name && passed + failed.length > 0),
    );
    return { code, output, results, missing };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
