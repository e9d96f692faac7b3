import { openGrpc } from "./grpc-connection.ts";
import type { Job, Outcome } from "./job.ts";
import { percentile } from "./percentile.ts";

/**
 * Sends on schedule over one connection, one call at a time, and measures each latency from the time its call was due.
 */
export async function runOpenGrpc(job: Extract<Job, { kind: "open-grpc" }>): Promise<Outcome> {
  const expected = Buffer.from(job.expected, "base64");
  const message = Buffer.from(job.message, "base64");
  const everyMs = 1_000 / job.ratePerSecond;
  const total = job.ratePerSecond * job.seconds;
  const startedAt = performance.now();
  const durations: number[] = [];
  let refused = 0;
  let answered: (body: Buffer | undefined) => void = () => undefined;
  const { url, path, headers } = job;
  const connection = openGrpc({ url, path, headers, message, onAnswer: (body) => answered(body) });
  for (let call = 0; call < total; call += 1) {
    const dueAt = startedAt + call * everyMs;
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, dueAt - performance.now())));
    // The timer may fire early or late. A late call counts from the time it was due.
    const body = await new Promise<Buffer | undefined>((resolve) => {
      answered = resolve;
      connection.call();
    });
    if (body?.subarray(5).equals(expected) === true) durations.push(performance.now() - dueAt);
    else refused += 1;
  }
  connection.close();
  return {
    seconds: (performance.now() - startedAt) / 1_000,
    good: durations.length,
    refused,
    wrong: 0,
    p50: percentile(durations, 0.5),
    p99: percentile(durations, 0.99),
  };
}
