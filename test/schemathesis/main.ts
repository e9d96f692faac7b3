import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { missing, runTool } from "../clients/run-tool.ts";
import { openAccounts } from "../support/accounts.ts";
import { PROJECT_FOLDER } from "../support/child-process.ts";
import { createMasterKeys, startService } from "../support/service.ts";
import { startUpstream } from "../support/upstream.ts";

/**
 * Checks a live service against its own `/openapi.json` with Schemathesis, all checks on: examples, limits, random
 * values, and sequences of requests that use each other's answers. `hooks.py` holds what a schema cannot say.
 *
 *     npm run test:schemathesis -- --seed 1 --seed 2 --examples 50
 *
 * Exits with 77, which means skipped instead of passed, without a Python that Schemathesis supports.
 */
const PACKAGE = "schemathesis==4.32.5";
const SKIPPED = 77;

const { values: given } = parseArgs({
  options: {
    seed: { type: "string", multiple: true, default: [String(Date.now() % 2 ** 31)] },
    examples: { type: "string", default: "20" },
  },
});

const folder = await mkdtemp(join(tmpdir(), "patchbay-schemathesis-"));
try {
  process.exitCode = await main();
} finally {
  await rm(folder, { recursive: true, force: true });
}

async function main(): Promise<number> {
  const absent = missing(["python3"]);
  if (absent.length > 0) return skip(`no ${absent.join(", ")} on PATH`);
  const bin = join(folder, "venv", "bin");
  try {
    await runTool("python3", ["-m", "venv", join(folder, "venv")]);
    await runTool(join(bin, "python"), ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", PACKAGE]);
  } catch (error) {
    return skip(`${PACKAGE} could not be installed. ${String(error)}`);
  }
  const failed: string[] = [];
  for (const seed of given.seed) if (!(await passes(join(bin, "schemathesis"), seed))) failed.push(seed);
  const seeds = given.seed.join(", ");
  console.log(`schemathesis: seeds ${seeds}; failed: ${failed.length === 0 ? "none" : `with ${failed.join(", ")}`}`);
  return failed.length === 0 ? 0 : 1;
}

function skip(why: string): number {
  console.log(`schemathesis: SKIPPED, ${why}`);
  return SKIPPED;
}

/** A fresh service for every seed, so that only the seed decides the outcome. */
async function passes(command: string, seed: string): Promise<boolean> {
  const upstream = await startUpstream();
  const env = {
    DATA_DIR: await mkdtemp(join(folder, "service-")),
    PATCHBAY_KEYS: createMasterKeys(),
    OUTBOUND_ALLOW: upstream.host,
    LOG_LEVEL: "error",
    MAX_CONNECTIONS_PER_ACCOUNT: "100000",
    RATE_LIMITS: "off",
  };
  const service = await startService({ env });
  const accounts = await openAccounts(service.env);
  try {
    const account = await accounts.create();
    const token = await account.token("mgmt.read mgmt.write mgmt.admin mcp.read mcp.write");
    const config = ["--config-file", "test/schemathesis/schemathesis.toml"];
    const wanted = ["--checks", "all", "--max-examples", given.examples, "--seed", seed];
    const child = spawn(command, [...config, "run", `${service.url}/openapi.json`, ...wanted], {
      cwd: PROJECT_FOLDER,
      env: { ...process.env, TOKEN: token, UPSTREAM_URL: upstream.url },
      stdio: "inherit",
    });
    return await new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", (code) => {
        resolve(code === 0);
      });
    });
  } finally {
    await accounts.close();
    await service.stop();
    await upstream.close();
  }
}
