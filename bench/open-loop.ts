import type { Contestant } from "./contestant.ts";
import type { LoadProcess } from "./load-process.ts";
import type { Job } from "./load/job.ts";
import { median } from "./load/percentile.ts";
import type { BenchOptions } from "./options.ts";

/** The latency that the service adds to a tool call at 1,000 calls per second, in milliseconds. */
export interface AddedLatency {
  readonly name: string;
  readonly p50: number;
  readonly p99: number;
}

/** The throughput under overload. */
export interface Overload {
  readonly offeredPerSecond: number;
  /** Correct responses per second, as a share of saturation. */
  readonly goodput: number;
  /** Latencies of the correct responses, in milliseconds. */
  readonly p99: number;
  /** The share of 503 responses. */
  readonly refused: number;
}

const CALLS_PER_SECOND = 1_000;
const OVERLOAD = 1.5;
const CALL_CONNECTIONS = 64;
const OVERLOAD_CONNECTIONS = 512;

/** Measures the added latency in interleaved runs; medians over the rounds. */
export async function measureAddedLatency(
  load: LoadProcess,
  direct: Contestant,
  relayed: Contestant,
  { seconds, rounds }: BenchOptions,
): Promise<AddedLatency> {
  const open = ({ job }: Contestant): Job => openLoop(job, CALLS_PER_SECOND, seconds, CALL_CONNECTIONS);
  const p50: number[] = [];
  const p99: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const bare = await load.run(open(direct));
    const through = await load.run(open(relayed));
    p50.push(through.p50 - bare.p50);
    p99.push(through.p99 - bare.p99);
  }
  return { name: relayed.name, p50: median(p50), p99: median(p99) };
}

/** Finds saturation in a closed loop, then sends 1.5 times as much in an open loop. */
export async function measureOverload(
  load: LoadProcess,
  contestant: Contestant,
  { seconds, rounds }: BenchOptions,
): Promise<Overload> {
  const runs: Overload[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const saturated = await load.run(contestant.job);
    const perSecond = saturated.good / saturated.seconds;
    const offeredPerSecond = Math.round(perSecond * OVERLOAD);
    const overloaded = await load.run(openLoop(contestant.job, offeredPerSecond, seconds, OVERLOAD_CONNECTIONS));
    const { good, refused } = overloaded;
    runs.push({
      offeredPerSecond,
      goodput: good / overloaded.seconds / perSecond,
      p99: overloaded.p99,
      refused: refused / (good + refused),
    });
  }
  return {
    offeredPerSecond: median(runs.map((run) => run.offeredPerSecond)),
    goodput: median(runs.map((run) => run.goodput)),
    p99: median(runs.map((run) => run.p99)),
    refused: median(runs.map((run) => run.refused)),
  };
}

function openLoop(job: Job, ratePerSecond: number, seconds: number, connections: number): Job {
  if (job.kind !== "closed-http1") throw new Error("open loops support only HTTP/1.1");
  const [request] = job.requests;
  if (request === undefined) throw new Error("there is no request to send");
  const { url, expected } = job;
  return { kind: "open-http1", url, request, expected, ratePerSecond, connections, seconds };
}
