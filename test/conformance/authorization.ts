import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { startEmbeddedPostgres } from "../../src/storage/embedded-postgres.ts";
import { startChild } from "../support/child-process.ts";
import { createFormBrowser } from "../support/form-browser.ts";
import { freePort } from "../support/free-port.ts";
import { grantAccess } from "../support/grant-access.ts";
import { createMasterKeys, startService } from "../support/service.ts";
import { readScenarioResults, type ScenarioResult } from "./scenario-results.ts";

/** The results of the suite for authorization servers. */
export interface AuthorizationOutcome {
  readonly code: number | NodeJS.Signals;
  readonly output: string;
  readonly results: readonly ScenarioResult[];
  /** Scenarios without a single check. */
  readonly missing: readonly string[];
}

/** The names printed by `conformance list --authorization`. */
const SCENARIOS = ["authorization-server-metadata-endpoint", "authorization-code-grant"];

/**
 * Runs the suite's scenarios for authorization servers: its client registers, a person logs in and consents, and the
 * client gets tokens for `/mcp`. `suite` is the suite's script.
 */
export async function runAuthorizationSuite(suite: string): Promise<AuthorizationOutcome> {
  const folder = await mkdtemp(join(tmpdir(), "patchbay-authorization-"));
  const postgres = await startEmbeddedPostgres({ dataDir: join(folder, "data"), log: pino({ level: "silent" }) });
  const service = await startService({
    databaseUrl: postgres.url,
    masterKeys: createMasterKeys(),
    env: { LOG_LEVEL: "warn" },
  });
  try {
    const person = await service.command("account", "create", "--email", "person@example.com");
    const port = await freePort();
    const clientId = await register(service.url, `http://127.0.0.1:${port}/callback`);
    const results = join(folder, "results");
    const asked = ["--url", service.url, "--client-id", clientId, "--resource", `${service.url}/mcp`];
    const child = await startChild({
      command: process.execPath,
      args: [suite, "authorization", ...asked, "--port", String(port), "-o", results],
      ready: /Waiting up to \d+ minutes for the authorization callback/,
    });
    const address = /^(https?:\/\/\S+\/oauth2\/authorize\?\S+)$/m.exec(child.output())?.[1];
    if (address === undefined) throw new Error(`the suite printed no address:\n${child.output()}`);
    const decider = { email: String(person["email"]), password: String(person["password"]) };
    await fetch(await grantAccess(createFormBrowser(service.url), new URL(address), decider));
    const code = await child.exited;
    const found = await readScenarioResults(results);
    const missing = SCENARIOS.filter(
      (name) => !found.some(({ scenario, passed, failed }) => scenario.endsWith(name) && passed + failed.length > 0),
    );
    return { code, output: child.output() + service.output(), results: found, missing };
  } finally {
    await service.kill();
    await postgres.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function register(issuer: string, redirectUri: string): Promise<string> {
  const answer = await fetch(`${issuer}/oauth2/register`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      client_name: "The suite's client",
      redirect_uris: [redirectUri],
      token_endpoint_auth_method: "none",
    }),
  });
  return ((await answer.json()) as { client_id: string }).client_id;
}
