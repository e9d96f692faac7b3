import { openAccounts } from "../test/support/accounts.ts";
import type { Arena } from "./arena.ts";
import { type Contestant, http1 } from "./contestant.ts";
import { type GateCost, measureGate } from "./gate-cost.ts";
import type { LoadProcess } from "./load-process.ts";
import { median } from "./load/percentile.ts";
import type { BenchOptions } from "./options.ts";
import { readUsage } from "./process-usage.ts";

/** The cost of tokens. */
export interface Authentication extends GateCost {
  /** Client credentials tokens issued per second. */
  readonly tokensPerSecond: number;
  /** CPU time of the service per token, in milliseconds. */
  readonly tokenCpuMs: number;
  /** The gate's share of a list's CPU time, from 0 to 1. */
  readonly gateShare: number;
}

/** Measures token issuance, and the share of a list operation that checking a cached token takes. */
export async function measureAuthentication(
  load: LoadProcess,
  arena: Arena,
  list: Contestant,
  options: BenchOptions,
): Promise<Authentication> {
  const accounts = await openAccounts(arena.env);
  const { clientId, clientSecret } = await (await accounts.create()).client("mgmt.read mgmt.write");
  await accounts.close();
  const request = {
    method: "POST" as const,
    path: "/oauth2/token",
    headers: {
      authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString("base64")}`,
      "content-type": "application/x-www-form-urlencoded",
    },
    body: "grant_type=client_credentials&scope=mgmt.read",
  };
  const tokens = http1("tokens", arena.service, [request], '"access_token"', options);
  // The first token loads the provider.
  await load.run({ ...tokens.job, seconds: 1 });
  const issued: { readonly perSecond: number; readonly cpuMs: number }[] = [];
  const listed: number[] = [];
  for (let round = 0; round < options.rounds; round += 1) {
    issued.push(await run(load, tokens));
    listed.push((await run(load, list)).cpuMs);
  }
  const cost = await measureGate();
  return {
    ...cost,
    tokensPerSecond: median(issued.map(({ perSecond }) => perSecond)),
    tokenCpuMs: median(issued.map(({ cpuMs }) => cpuMs)),
    gateShare: cost.knownTokenUs / 1_000 / median(listed),
  };
}

async function run(load: LoadProcess, { subject, job }: Contestant): Promise<{ perSecond: number; cpuMs: number }> {
  const before = await readUsage(subject.pid);
  const { good, seconds } = await load.run(job);
  const after = await readUsage(subject.pid);
  return { perSecond: good / seconds, cpuMs: (after.cpuMs - before.cpuMs) / good };
}
