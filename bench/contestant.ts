import type { Job, RequestTemplate } from "./load/job.ts";
import type { BenchOptions } from "./options.ts";
import type { Subject } from "./processes.ts";

export interface Contestant {
  readonly name: string;
  readonly subject: Subject;
  readonly job: Job;
}

export interface Operation extends Contestant {
  readonly against: readonly Opponent[];
  /** The upper bound of the 99th percentile, in milliseconds. */
  readonly p99GoalMs?: number;
}

export interface Opponent {
  /** The name of the floor. */
  readonly floor: string;
  /** The goal, as a share of the floor's throughput. */
  readonly goal?: number;
}

/** A contestant over HTTP/1.1 with one request in flight per connection. */
export function http1(
  name: string,
  subject: Subject,
  requests: readonly RequestTemplate[],
  expected: string,
  { connections, seconds }: Pick<BenchOptions, "connections" | "seconds">,
): Contestant {
  return { name, subject, job: { kind: "closed-http1", url: subject.url, requests, expected, connections, seconds } };
}
