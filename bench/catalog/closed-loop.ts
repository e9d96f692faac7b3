import { Pool } from "undici";
import { percentile } from "../load/percentile.ts";

export interface LoopRequest {
  readonly origin: string;
  readonly path: string;
  readonly method: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** A text that every response must contain. */
  readonly expected: string;
}

/** Latencies are in milliseconds. */
export interface LoopResult {
  readonly requests: number;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
}

/** Keeps `width` requests in flight with undici. Throws for an unexpected response. */
export async function closedLoop(request: LoopRequest, width: number, seconds: number): Promise<LoopResult> {
  const pool = new Pool(request.origin, { connections: width, pipelining: 1 });
  const latencies: number[] = [];
  const startedAt = performance.now();
  const endsAt = startedAt + seconds * 1_000;
  const { path, method, headers, body, expected } = request;

  async function work(): Promise<void> {
    while (performance.now() < endsAt) {
      const sentAt = performance.now();
      const answer = await pool.request({ path, method, headers, body: body ?? null });
      const text = await answer.body.text();
      if (answer.statusCode !== 200 || !text.includes(expected))
        throw new Error(`${path} returned ${answer.statusCode} ${text}`);
      latencies.push(performance.now() - sentAt);
    }
  }

  try {
    await Promise.all(Array.from({ length: width }, work));
    const perSecond = latencies.length / ((performance.now() - startedAt) / 1_000);
    return {
      requests: latencies.length,
      perSecond,
      p50: percentile(latencies, 0.5),
      p99: percentile(latencies, 0.99),
    };
  } finally {
    await pool.destroy();
  }
}
