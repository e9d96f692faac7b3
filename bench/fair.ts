import type { Arena } from "./arena.ts";
import { fetchGrpcList } from "./grpc-answer.ts";
import { type LoadProcess, startLoadProcess } from "./load-process.ts";
import type { Job, RequestTemplate } from "./load/job.ts";
import { median } from "./load/percentile.ts";
import { statelessRequests } from "./mcp-requests.ts";
import type { BenchOptions } from "./options.ts";
import type { Subject } from "./processes.ts";
import type { Tenant } from "./tenant.ts";

/** The effect of one tenant's flood on a quiet tenant. Times are in milliseconds. */
export interface Fairness {
  readonly name: string;
  /** Whether the quiet requests go to a server that is not flooded, so that no goal applies. */
  readonly isControl?: boolean;
  readonly idleP99: number;
  readonly floodedP99: number;
  /** Wrong responses to the quiet tenant in all rounds. */
  readonly refused: number;
  /** Requests of the flooding tenant that were served and refused, per second. */
  readonly floodServed: number;
  readonly floodRefused: number;
}

const QUIET_PER_SECOND = 50;
const QUIET_CONNECTIONS = 8;
const FLOOD_CONNECTIONS = 400;
/** The flood starts before and ends after the measurement, in seconds. */
const MARGIN_SECONDS = 1;

/**
 * Measures a quiet tenant at 50 requests per second, alone and while another tenant keeps 400 connections busy. Medians
 * over the rounds.
 */
export async function measureFairness(load: LoadProcess, arena: Arena, options: BenchOptions): Promise<Fairness[]> {
  const { service, upstream, reader, writer, mcp } = arena;
  const list = ({ token }: Tenant): RequestTemplate => ({
    method: "GET",
    path: "/api/v1/mcp-servers",
    headers: { authorization: `Bearer ${token}` },
  });
  const listFlood = floodOf(service, list(reader), '"Connection 5"', options);
  const grpc = await fetchGrpcList(service, writer);
  const fairness = [
    await measure(load, "REST list", quietOf(service, list(writer), '"Connection 5"', options), listFlood, options),
    await measure(
      load,
      "gRPC list",
      { kind: "open-grpc", ...grpc, ratePerSecond: QUIET_PER_SECOND, seconds: options.seconds },
      listFlood,
      options,
    ),
  ];
  if (mcp === undefined) return fairness;
  const call = ({ token }: Tenant): RequestTemplate => statelessRequests({ path: "/mcp", token }).call;
  const quiet = quietOf(mcp.service, call(mcp.quiet), "hello", options);
  const flood = floodOf(mcp.service, call(mcp.local), "hello", options);
  const control = quietOf(upstream, statelessRequests({ path: "/mcp", token: undefined }).call, "hello", options);
  return [
    ...fairness,
    await measure(load, "MCP tools/call", quiet, flood, options),
    // The same quiet requests to a process without the flood measure only the contention for the CPU.
    { ...(await measure(load, "bare server beside the MCP flood", control, flood, options)), isControl: true },
  ];
}

async function measure(
  load: LoadProcess,
  name: string,
  quiet: Job,
  flood: Job,
  { rounds }: BenchOptions,
): Promise<Fairness> {
  const floods = startLoadProcess();
  const idleP99: number[] = [];
  const floodedP99: number[] = [];
  const served: number[] = [];
  const turnedAway: number[] = [];
  let refused = 0;
  try {
    for (let round = 0; round < rounds; round += 1) {
      const idle = await load.run(quiet);
      const flooding = floods.run(flood);
      await new Promise((resolve) => setTimeout(resolve, MARGIN_SECONDS * 1_000));
      const flooded = await load.run(quiet);
      const { seconds, good, refused: floodRefused } = await flooding;
      idleP99.push(idle.p99);
      floodedP99.push(flooded.p99);
      served.push(good / seconds);
      turnedAway.push(floodRefused / seconds);
      refused += flooded.refused;
    }
  } finally {
    floods.stop();
  }
  return {
    name,
    idleP99: median(idleP99),
    floodedP99: median(floodedP99),
    refused,
    floodServed: median(served),
    floodRefused: median(turnedAway),
  };
}

function quietOf({ url }: Subject, request: RequestTemplate, expected: string, { seconds }: BenchOptions): Job {
  const ratePerSecond = QUIET_PER_SECOND;
  return { kind: "open-http1", url, request, expected, ratePerSecond, connections: QUIET_CONNECTIONS, seconds };
}

function floodOf({ url }: Subject, request: RequestTemplate, expected: string, { seconds }: BenchOptions): Job {
  const connections = FLOOD_CONNECTIONS;
  return { kind: "flood-http1", url, request, expected, connections, seconds: seconds + 2 * MARGIN_SECONDS };
}
