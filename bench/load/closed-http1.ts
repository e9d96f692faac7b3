import autocannon from "autocannon";
import type { Job, Outcome } from "./job.ts";
import { percentile } from "./percentile.ts";

/** autocannon with one request in flight per connection. Every body is checked. */
export async function runClosedHttp1(job: Extract<Job, { kind: "closed-http1" }>): Promise<Outcome> {
  const durations: number[] = [];
  let example: string | undefined;
  let client = 0;
  const result = await autocannon({
    url: job.url,
    connections: job.connections,
    duration: job.seconds,
    requests: job.requests.slice(0, 1),
    verifyBody: (body) => {
      const isExpected = body.includes(job.expected);
      if (!isExpected) example ??= body.slice(0, 500);
      return isExpected;
    },
    setupClient: (each) => {
      const request = job.requests[client % job.requests.length];
      client += 1;
      if (job.requests.length > 1 && request !== undefined) each.setRequests([request]);
      each.on("response", (_status, _bytes, milliseconds) => durations.push(milliseconds));
    },
  });
  const wrong = result.errors + Math.max(result.mismatches, result.non2xx);
  return {
    seconds: result.duration,
    good: result["2xx"] - Math.max(0, result.mismatches - result.non2xx),
    refused: 0,
    wrong,
    p50: percentile(durations, 0.5),
    p99: percentile(durations, 0.99),
    ...(example !== undefined && { example }),
  };
}
