import { mkdtemp, rm } from "node:fs/promises";
import { Agent } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { readUsage } from "../../bench/process-usage.ts";
import { readDocument } from "../contract/document.ts";
import { openAccounts } from "../support/accounts.ts";
import { createMasterKeys, startService } from "../support/service.ts";
import { startUpstream } from "../support/upstream.ts";
import { createContractCheck } from "./contract-check.ts";
import { createRandom } from "./random.ts";
import { createRequests, describeRequest, type FuzzRequest } from "./requests.ts";
import { createSend } from "./send.ts";

// Sends valid and invalid requests to every operation of a separate service for an hour. Fails for a 500, an unanswered
// request,
// a stopped service or growing memory. The seed reproduces the requests.
const { values: given } = parseArgs({
  options: {
    seed: { type: "string", default: String(Date.now() % 2 ** 31) },
    requests: { type: "string", default: "360000" },
    callers: { type: "string", default: "8" },
  },
});
const total = Number(given.requests);
const random = createRandom(Number(given.seed));

const dataDir = await mkdtemp(join(tmpdir(), "patchbay-fuzz-"));
const upstream = await startUpstream();
const service = await startService({
  env: {
    DATA_DIR: dataDir,
    PATCHBAY_KEYS: createMasterKeys(),
    OUTBOUND_ALLOW: upstream.host,
    LOG_LEVEL: "error",
    MAX_CONNECTIONS_PER_ACCOUNT: "50",
    RATE_LIMITS: "off",
    // Each request uses another address, so that failed authentications do not end the run.
    TRUST_PROXY: "true",
  },
});
const accounts = await openAccounts(service.env);
const tokens: string[] = [];
const seen: string[] = [];
const document = await readDocument();
const findBroken = createContractCheck(document);
const statuses = new Map<string, number>();
const faults: string[] = [];
const memory: number[] = [];

/** Requests disable accounts and revoke tokens at times; a new account then continues. */
async function renewTokens(): Promise<void> {
  const account = await accounts.create();
  const fresh = [
    await account.token("mgmt.read mgmt.write mgmt.admin mcp.read mcp.write"),
    await account.token("mgmt.read"),
    await account.token("mcp.write"),
    await accounts.forge(account, { exp: 1 }),
    await accounts.forge(account, { scopes: "mgmt.read" }),
    await accounts.forge(account, { aud: "https://elsewhere.example" }),
  ];
  tokens.splice(0, tokens.length, ...fresh);
}

/** Remembers ids in a response for later requests. */
function remember(body: string): void {
  for (const [, id = ""] of body.matchAll(
    /"(?:id|server_id|sessionId|client_id|next_cursor|name|connection_id)":"?([\w.-]{1,80})/g,
  )) {
    if (seen.length >= 500) seen[random.below(500)] = id;
    else seen.push(id);
  }
}

const agent = new Agent({ keepAlive: true, maxSockets: Number(given.callers) });
const send = createSend(service.url, agent);

async function caller(make: () => FuzzRequest, next: () => boolean): Promise<void> {
  while (next()) {
    const request = make();
    try {
      const answer = await send(request);
      const { status, text } = answer;
      const key = `${request.operation} ${status}`;
      statuses.set(key, (statuses.get(key) ?? 0) + 1);
      remember(text);
      // A probe may report briefly that its replica is not ready.
      if (status >= 500 && !request.target.startsWith("/readyz"))
        faults.push(`${status} ${describeRequest(request)} → ${text.slice(0, 300)}`);
      const broken = findBroken(request, answer);
      if (broken !== undefined) faults.push(`${broken}: ${describeRequest(request)} → ${text.slice(0, 300)}`);
      if (status === 401 && request.headers["authorization"] === `Bearer ${tokens[0] ?? ""}`) await renewTokens();
    } catch (error) {
      faults.push(`${error instanceof Error ? error.message : String(error)} ${describeRequest(request)}`);
    }
  }
}

await renewTokens();
const configuration = { url: upstream.url };
const connections = [
  { server_type: "mcp", name: "Fuzz", configuration },
  { server_type: "mcp", name: "Read", configuration, access_type: "read" },
  { server_type: "mcp", name: "Some", configuration: { ...configuration, api_token: "t" }, access_type: "individual" },
];
const make = createRequests({ document, random, tokens, seen, connections });
const startedAt = performance.now();
let sent = 0;
const next = (): boolean => {
  if (faults.length >= 50 || sent >= total) return false;
  sent += 1;
  if (sent % Math.ceil(total / 200) === 0) {
    void readUsage(service.pid()).then(({ rssMb }) => memory.push(rssMb));
    if (sent % Math.ceil(total / 20) < total / 200) {
      process.stdout.write(`${sent} sent, ${memory.at(-1)?.toFixed(0) ?? "?"} MB, ${faults.length} faults\n`);
    }
  }
  return true;
};
await Promise.all(Array.from({ length: Number(given.callers) }, () => caller(make, next)));

const seconds = (performance.now() - startedAt) / 1_000;
const mean = (numbers: readonly number[]): number => numbers.reduce((sum, one) => sum + one, 0) / numbers.length;
const [early, late] = [mean(memory.slice(50, 100)), mean(memory.slice(-50))];
// A leak appears as growth between the second and the last quarter of a long run.
const grows = memory.length >= 190 && late > early * 1.15;
const byStatus = Map.groupBy(statuses, ([key]) => key.split(" ").at(-1) ?? "");
const counts = [...byStatus]
  .map(([status, all]) => `${status}: ${all.reduce((sum, [, count]) => sum + count, 0)}`)
  .toSorted();
const covered = new Set([...statuses.keys()].map((key) => key.split(" ")[0])).size;
process.stdout.write(
  `seed ${given.seed}: ${sent} requests in ${seconds.toFixed(0)} s over ${covered} operations\n${counts.join("  ")}\n` +
    `memory, second quarter ${early.toFixed(0)} MB, last quarter ${late.toFixed(0)} MB${grows ? ": it grows" : ""}\n`,
);
for (const fault of faults) process.stdout.write(`${fault}\n`);
agent.destroy();
await accounts.close();
const exit = await service.stop();
await upstream.close();
await rm(dataDir, { recursive: true, force: true });
process.exitCode = faults.length > 0 || grows || exit !== 0 ? 1 : 0;
