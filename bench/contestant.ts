import type { Job, RequestTemplate } from "./load/job.ts";
import type { BenchOptions } from "./options.ts";
import type { Subject } from "./processes.ts";

/** What is driven. */
export interface Contestant {
  readonly name: string;
  readonly subject: Subject;
  readonly job: Job;
}

/** Something the service does. */
export interface Operation extends Contestant {
  readonly against: readonly Opponent[];
  /** What the 99th percentile should stay below, in milliseconds. */
  readonly p99GoalMs?: number;
}

/** What an operation is compared with. */
export interface Opponent {
  /** The name of the floor. */
  readonly floor: string;
  /** The share of the floor's throughput that the operation should reach. */
  readonly goal?: number;
}

/** A contestant over HTTP/1.1, every connection always busy. */
export function http1(
  name: string,
  subject: Subject,
  requests: readonly RequestTemplate[],
  expected: string,
  { connections, seconds }: Pick<BenchOptions, "connections" | "seconds">,
): Contestant {
  return { name, subject, job: { kind: "closed-http1", url: subject.url, requests, expected, connections, seconds } };
}
