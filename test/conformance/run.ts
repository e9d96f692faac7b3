import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { pino } from "pino";
import { parse } from "yaml";
import { startEmbeddedPostgres } from "../../src/storage/embedded-postgres.ts";
import { EVERYDAY_SCOPES, openAccounts } from "../support/accounts.ts";
import { runChild } from "../support/child-process.ts";
import { freePort } from "../support/free-port.ts";
import { createMasterKeys, startService } from "../support/service.ts";
import { until } from "../support/until.ts";
import { runAuthorizationSuite } from "./authorization.ts";
import { type ClientRun, runClientSuite } from "./client-suite.ts";
import { startEverythingServer, type UpstreamRevision } from "./everything-server.ts";
import { startRoundRobin } from "./round-robin.ts";
import { readScenarioResults, type ScenarioResult } from "./scenario-results.ts";

/**
 * Runs MCP's conformance suite against two replicas behind a round robin, with an SDK server as a connection; its part
 * for authorization servers against one replica; and its part for clients with the service as the client. Fails if the suite fails, if a
 * scenario is missing, or if a scenario has no checks. `npm run conformance` writes test/conformance/summary.md; `npm
 * run conformance -- --check` does not.
 */

interface ServerRun {
  readonly version: string;
  readonly upstream: UpstreamRevision;
}

/** Each revision, run with upstreams of the same and of the other kind. */
const RUNS: readonly ServerRun[] = ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"].flatMap((version) =>
  (["legacy", "modern"] as const).map((upstream) => ({ version, upstream })),
);

/** The revisions with a set of requirements. For the others all scenarios of the revision are required. */
const REQUIREMENTS = ["2025-11-25", "2026-07-28"];

/** The scenarios of the skills extension (SEP-2640), which belong to no set of requirements. */
const SKILL_SCENARIOS = ["sep-2640-skills-enumeration", "sep-2640-skills-manifest", "sep-2640-skills-directory"];

/** The scenarios for clients of 2025-03-26 servers that log in. */
const BACKCOMPAT = ["auth/2025-03-26-oauth-metadata-backcompat", "auth/2025-03-26-oauth-endpoint-fallback"];

const SUITE = createRequire(import.meta.url).resolve("@modelcontextprotocol/conformance/dist/index.js");
const FOLDER = new URL(".", import.meta.url).pathname;

interface Outcome {
  readonly title: string;
  readonly code: number | NodeJS.Signals;
  readonly output: string;
  readonly results: readonly ScenarioResult[];
  readonly missing: readonly string[];
}

const only = process.argv.find((argument) => argument.startsWith("--only="))?.slice("--only=".length);
const outcomes: Outcome[] = [];
if (only === undefined || only === "authorization") {
  outcomes.push({ title: "authorization server", ...(await runAuthorizationSuite(SUITE)) });
}
for (const run of await clientRuns()) {
  if (only !== undefined && only !== run.title) continue;
  outcomes.push(await runClientSuite(SUITE, run));
}
for (const run of RUNS) {
  if (only !== undefined && only !== `${run.version}/${run.upstream}`) continue;
  outcomes.push(await runSuite(run));
}
const report = summarize(outcomes);
process.stdout.write(report);
if (only === undefined && !process.argv.includes("--check")) await writeFile(join(FOLDER, "summary.md"), report);
for (const { title, code, output, results, missing } of outcomes) {
  for (const { scenario, errors } of results)
    for (const error of errors) process.stderr.write(`${title}, ${scenario}, ${error}\n`);
  if (code === 0 && missing.length === 0) continue;
  process.exitCode = 1;
  process.stderr.write(`\n${title} failed; missing: ${missing.join(", ")}\n${output}\n`);
}

async function runSuite({ version, upstream: revision }: ServerRun): Promise<Outcome> {
  const folder = await mkdtemp(join(tmpdir(), "patchbay-conformance-"));
  const postgres = await startEmbeddedPostgres({ dataDir: join(folder, "data"), log: pino({ level: "silent" }) });
  const upstream = await startEverythingServer(revision);
  const port = await freePort();
  const publicUrl = `http://localhost:${port}`;
  const options = {
    databaseUrl: postgres.url,
    masterKeys: createMasterKeys(),
    env: { PUBLIC_URL: publicUrl, OUTBOUND_ALLOW: upstream.host, LOG_LEVEL: "warn" },
  };
  const replicas = [await startService(options), await startService(options)];
  const accounts = await openAccounts(replicas[0]?.env ?? {});
  const token = await (await accounts.create()).token(EVERYDAY_SCOPES);
  await accounts.close();
  const targets = replicas.map(({ url }) => url);
  const shim = await startRoundRobin({ port, targets, token });
  try {
    await connect(publicUrl, upstream.url);
    const results = join(folder, "results");
    const runScenarios = (...choice: readonly string[]) =>
      runChild({
        command: process.execPath,
        args: [SUITE, "server", "--url", `${publicUrl}/mcp`, ...choice, "-o", results],
      });
    const expected = expectedFailures(`expected-failures.${version}.${revision}.yaml`);
    const runs = [await runScenarios(...choiceOf(version), ...expected)];
    for (const scenario of SKILL_SCENARIOS)
      runs.push(await runScenarios("--scenario", scenario, "--spec-version", version, "--force"));
    const code = runs.find((one) => one.code !== 0)?.code ?? 0;
    const output = runs.map((one) => one.output).join("");
    const found = await readScenarioResults(results);
    const missing = [...(await serverScenarios(version)), ...SKILL_SCENARIOS].filter(
      (name) => !found.some(({ scenario, passed, failed }) => scenario === name && passed + failed.length > 0),
    );
    const warnings = replicas.map((replica) => replica.output()).join("");
    return { title: `${version}, upstream ${revision}`, code, output: output + warnings, results: found, missing };
  } finally {
    shim.close();
    await Promise.all(replicas.map((replica) => replica.kill()));
    await upstream.close();
    await postgres.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Connects the upstream and waits until its tools can be called. */
async function connect(publicUrl: string, upstreamUrl: string): Promise<void> {
  const address = `${publicUrl}/api/v1/mcp-servers`;
  const created = await fetch(address, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ server_type: "mcp", name: "Everything", configuration: { url: upstreamUrl } }),
  });
  const { server_id: id } = (await created.json()) as { server_id: string };
  await until(async () => {
    const found = await fetch(`${address}/${id}`);
    const { data } = (await found.json()) as { data: { api_key_verification_status: string } };
    return data.api_key_verification_status === "verified";
  });
}

async function requiredScenarios(requirements: string, role: "server" | "client"): Promise<readonly string[]> {
  const file = new URL(`../requirements/${requirements}.yaml`, pathToFileURL(SUITE));
  return (parse(await readFile(file, "utf8")) as Record<typeof role, string[]>)[role];
}

function choiceOf(version: string): readonly string[] {
  return REQUIREMENTS.includes(version) ? ["--requirements", version] : ["--suite", "all", "--spec-version", version];
}

/** Without the file nothing may fail. */
function expectedFailures(name: string): readonly string[] {
  return existsSync(join(FOLDER, name)) ? ["--expected-failures", join(FOLDER, name)] : [];
}

async function serverScenarios(version: string): Promise<readonly string[]> {
  if (REQUIREMENTS.includes(version)) return requiredScenarios(version, "server");
  const { output } = await runChild({
    command: process.execPath,
    args: [SUITE, "list", "--server", "--spec-version", version],
  });
  return [...output.matchAll(/^ {2}- (\S+)/gm)].map(([, name = ""]) => name);
}

/** The service as a client of its upstreams: the scenarios of every revision. */
async function clientRuns(): Promise<readonly ClientRun[]> {
  const runs: ClientRun[] = [{ title: "client, 2025-03-26", choice: ["--suite", "backcompat"], required: BACKCOMPAT }];
  for (const requirements of REQUIREMENTS) {
    const required = await requiredScenarios(requirements, "client");
    runs.push({ title: `client, ${requirements}`, choice: ["--requirements", requirements], required });
  }
  return runs;
}

function summarize(all: readonly Outcome[]): string {
  const version = (
    createRequire(import.meta.url)("@modelcontextprotocol/conformance/package.json") as { version: string }
  ).version;
  const lines = [
    "# Conformance",
    "",
    `MCP's own suite, \`@modelcontextprotocol/conformance@${version}\`, against two replicas behind a round robin, with a server`,
    "of the SDK behind them as a connection, and with the service as the client of the suite's servers. Written by",
    "`npm run conformance`; what may fail, and why, stands in `expected-failures.*.yaml`.",
  ];
  for (const { title, code, results, missing } of all) {
    const failing = results.filter(({ failed }) => failed.length > 0);
    const unchecked = results.filter(({ passed, failed, warned }) => passed + failed.length + warned.length === 0);
    const passing = results.length - failing.length - unchecked.length;
    lines.push(
      "",
      `## ${title}`,
      "",
      `Exit code ${code}. ${results.length} scenarios: ${passing} without a failed check, ${failing.length} with, ` +
        `${unchecked.length} without any check; missing: ${missing.length === 0 ? "none" : missing.join(", ")}.`,
      "",
      "| scenario | checks passed | failed | warned |",
      "|---|---|---|---|",
      ...results.map(
        ({ scenario, passed, failed, warned }) =>
          `| ${scenario} | ${passed} | ${failed.join(", ")} | ${warned.join(", ")} |`,
      ),
    );
  }
  return `${lines.join("\n")}\n`;
}
