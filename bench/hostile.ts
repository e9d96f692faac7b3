import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { pino } from "pino";
import { startEmbeddedPostgres } from "../src/storage/embedded-postgres.ts";
import { HOSTILE_CASES } from "../test/support/hostile-cases.ts";
import { createMasterKeys } from "../test/support/service.ts";
import { describeTool, startUpstream } from "../test/support/upstream.ts";
import { startPatchbay } from "./processes.ts";
import { createTenant, openSession } from "./tenant.ts";

/** The effect of one hostile call on other requests. */
export interface HostileGap {
  readonly name: string;
  /** The longest time between two responses of /healthz during the call, in milliseconds. */
  readonly gapMs: number;
  readonly answer: string;
}

/** Below the number of overruns per minute after which an account must wait. */
const CASES_PER_ACCOUNT = 4;

/** Calls each tool with a slow schema or slow arguments while another thread watches /healthz. */
export async function measureHostile(): Promise<readonly HostileGap[]> {
  await using cleaning = new AsyncDisposableStack();
  const dataDir = await mkdtemp(join(tmpdir(), "patchbay-bench-"));
  cleaning.defer(() => rm(dataDir, { recursive: true, force: true }));
  const postgres = await startEmbeddedPostgres({ dataDir, log: pino({ level: "warn" }) });
  cleaning.defer(() => postgres.stop());
  const upstream = await startUpstream();
  cleaning.defer(() => upstream.close());
  upstream.tools = [
    describeTool("ordinary"),
    ...HOSTILE_CASES.map(({ name, inputSchema }) => describeTool(name, { inputSchema })),
  ];
  const env = {
    DATABASE_URL: postgres.url,
    PATCHBAY_KEYS: createMasterKeys(),
    OUTBOUND_ALLOW: upstream.host,
    PUBLIC_URL: "http://127.0.0.1",
    LOG_LEVEL: "error",
  };
  const service = await startPatchbay(env);
  cleaning.defer(() => service.stop());
  const watch = new Worker(new URL("./watch-health.ts", import.meta.url), { workerData: service.url });
  cleaning.defer(async () => {
    await watch.terminate();
  });

  async function createCaller(): Promise<(name: string, args: object) => Promise<string>> {
    const tenant = await createTenant(env, service, { server_type: "mcp", configuration: { url: upstream.url } }, 1);
    const headers = {
      "x-session-id": await openSession(service, tenant),
      authorization: `Bearer ${tenant.token}`,
      "content-type": "application/json",
    };
    return async (name, args) => {
      const body = JSON.stringify({ name, arguments: args });
      const response = await fetch(`${service.url}/mcp/tools/call`, { method: "POST", headers, body });
      const text = await response.text();
      return text.includes("too expensive to check") ? "refused" : `answered ${response.status}`;
    };
  }

  async function gapDuring(work: () => Promise<string>): Promise<{ gapMs: number; answer: string }> {
    watch.postMessage("start");
    await sleep(100);
    const answer = await work();
    await sleep(100);
    const { promise, resolve } = Promise.withResolvers<number>();
    watch.once("message", resolve);
    watch.postMessage("stop");
    return { gapMs: await promise, answer };
  }

  const gaps: HostileGap[] = [];
  let call = await createCaller();
  await call("ordinary", { text: "first" });
  gaps.push({ name: "ordinary", ...(await gapDuring(() => call("ordinary", { text: "again" }))) });
  for (const [index, { name, args }] of HOSTILE_CASES.entries()) {
    if (index % CASES_PER_ACCOUNT === 0) {
      call = await createCaller();
      await call("ordinary", { text: "first" });
    }
    const gap = { name, ...(await gapDuring(() => call(name, args))) };
    console.log(`${name.padEnd(32)}${gap.gapMs.toFixed(0).padStart(6)} ms  ${gap.answer}`);
    gaps.push(gap);
  }
  return gaps;
}
