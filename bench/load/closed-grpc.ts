import { openGrpc } from "./grpc-connection.ts";
import type { Job, Outcome } from "./job.ts";
import { percentile } from "./percentile.ts";

/** One gRPC call in flight per connection. Every response must equal the expected message. */
export async function runClosedGrpc(job: Extract<Job, { kind: "closed-grpc" }>): Promise<Outcome> {
  const expected = Buffer.from(job.expected, "base64");
  const message = Buffer.from(job.message, "base64");
  const durations: number[] = [];
  let wrong = 0;
  let example: string | undefined;
  const startedAt = performance.now();
  const endsAt = startedAt + job.seconds * 1_000;

  const drive = (): Promise<undefined> =>
    new Promise((resolve) => {
      let sentAt = performance.now();
      const connection = openGrpc({
        url: job.url,
        path: job.path,
        headers: job.headers,
        message,
        onAnswer: (body) => {
          const now = performance.now();
          // The first five bytes are gRPC's compression flag and length.
          if (body?.subarray(5).equals(expected) === true) durations.push(now - sentAt);
          else {
            wrong += 1;
            example ??= body?.toString("latin1").slice(0, 200) ?? "connection lost";
          }
          if (now >= endsAt || body === undefined) {
            connection.close();
            resolve(undefined);
            return;
          }
          sentAt = now;
          connection.call();
        },
      });
      connection.call();
    });

  await Promise.all(Array.from({ length: job.connections }, drive));
  return {
    seconds: (performance.now() - startedAt) / 1_000,
    good: durations.length,
    refused: 0,
    wrong,
    p50: percentile(durations, 0.5),
    p99: percentile(durations, 0.99),
    ...(example !== undefined && { example }),
  };
}
