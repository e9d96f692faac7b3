import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { startEmbeddedPostgres } from "../../src/storage/embedded-postgres.ts";
import { PROJECT_FOLDER, startChild } from "../../test/support/child-process.ts";
import { freePort } from "../../test/support/free-port.ts";
import { createMasterKeys } from "../../test/support/service.ts";
import { startPatchbay, type Subject } from "../processes.ts";

/** GitHub's document, installed by `npm run fixture:github`. */
const GITHUB = join(PROJECT_FOLDER, "node_modules/@octokit/openapi/generated/api.github.com.json");

/** The service and an upstream, both on this machine. */
export interface Place {
  readonly service: Subject;
  readonly upstream: string;
  readonly env: Readonly<Record<string, string>>;
  readonly hasGithub: boolean;
  close(): Promise<void>;
}

/** Starts both. The built-in contract of BambooHR points to the upstream. */
export async function openPlace(): Promise<Place> {
  const dataDir = await mkdtemp(join(tmpdir(), "patchbay-bench-"));
  const postgres = await startEmbeddedPostgres({ dataDir, log: pino({ level: "warn" }) });
  const port = await freePort();
  const hasGithub = existsSync(GITHUB);
  const upstream = await startChild({
    command: process.execPath,
    args: ["bench/catalog/upstream.ts"],
    env: { PORT: String(port), ...(hasGithub ? { DOCUMENT_FILE: GITHUB } : {}) },
    ready: /listening/,
  });
  const origin = `http://127.0.0.1:${port}`;
  const env = {
    DATABASE_URL: postgres.url,
    PATCHBAY_KEYS: createMasterKeys(),
    PUBLIC_URL: "http://127.0.0.1",
    OUTBOUND_ALLOW: `127.0.0.1:${port}`,
    INTEGRATION_BASE_URLS: `bamboohr=${origin}`,
    LOG_LEVEL: "error",
  };
  const service = await startPatchbay(env);
  return {
    service,
    upstream: origin,
    env,
    hasGithub,
    async close() {
      await service.stop();
      await upstream.end("SIGTERM");
      await postgres.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
