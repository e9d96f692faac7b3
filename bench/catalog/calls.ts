import { median } from "../load/percentile.ts";
import type { BenchOptions } from "../options.ts";
import { readUsage } from "../process-usage.ts";
import { createTenant, openSession } from "../tenant.ts";
import { closedLoop, type LoopRequest, type LoopResult } from "./closed-loop.ts";
import type { Place } from "./place.ts";

/** `tools/call` through a built-in contract, compared with direct calls by undici. */
export interface CatalogCalls {
  readonly width: number;
  /** Medians over the rounds, for undici and for the service. */
  readonly direct: LoopResult;
  readonly through: LoopResult;
  /** CPU time of the service per call. */
  readonly cpuMs: number;
}

/** Measures both alternately, with one and with many concurrent calls. */
export async function measureCatalogCalls(place: Place, options: BenchOptions): Promise<readonly CatalogCalls[]> {
  const configuration = { company_domain: "acme", api_token: "a-key-of-the-upstream" };
  const tenant = await createTenant(place.env, place.service, { server_type: "bamboohr", configuration }, 1);
  const session = await openSession(place.service, tenant);
  const through: LoopRequest = {
    origin: place.service.url,
    path: "/mcp/tools/call",
    method: "POST",
    headers: {
      authorization: `Bearer ${tenant.token}`,
      "content-type": "application/json",
      "x-session-id": session,
    },
    body: JSON.stringify({ name: "get_employee_directory", arguments: {} }),
    expected: '"isError":false',
  };
  const direct: LoopRequest = {
    origin: place.upstream,
    path: "/v1/employees/directory",
    method: "GET",
    headers: { accept: "application/json", authorization: "Basic YS1rZXk6eA==" },
    expected: "Ada",
  };
  await closedLoop(through, 4, 1);
  const results: CatalogCalls[] = [];
  for (const width of [1, options.connections]) {
    const directs: LoopResult[] = [];
    const throughs: LoopResult[] = [];
    const costs: number[] = [];
    for (let round = 0; round < options.rounds; round += 1) {
      directs.push(await closedLoop(direct, width, options.seconds));
      const before = await readUsage(place.service.pid);
      const result = await closedLoop(through, width, options.seconds);
      costs.push(((await readUsage(place.service.pid)).cpuMs - before.cpuMs) / result.requests);
      throughs.push(result);
    }
    results.push({ width, direct: middle(directs), through: middle(throughs), cpuMs: median(costs) });
  }
  return results;
}

export function middle(results: readonly LoopResult[]): LoopResult {
  const of = (key: keyof LoopResult): number => median(results.map((result) => result[key]));
  return { requests: of("requests"), perSecond: of("perSecond"), p50: of("p50"), p99: of("p99") };
}
