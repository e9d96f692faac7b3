import { type Answer, type Http1Connection, openHttp1 } from "./http1-connection.ts";
import type { Job, Outcome } from "./job.ts";
import { percentile } from "./percentile.ts";

/** How long to wait for responses after the last request was due, in milliseconds. */
const PATIENCE_MS = 5_000;

/** How long the connections have to open before the first request is due, in milliseconds. */
const CONNECT_MS = 500;

/** Sends on schedule regardless of responses, and measures each latency from the time its request was due. */
export async function runOpenHttp1(job: Extract<Job, { kind: "open-http1" }>): Promise<Outcome> {
  const total = job.ratePerSecond * job.seconds;
  const everyMs = 1_000 / job.ratePerSecond;
  const durations: number[] = [];
  const idle: Http1Connection[] = [];
  const late: number[] = [];
  let opened = 0;
  let answered = 0;
  let refused = 0;
  let wrong = 0;
  let example: string | undefined;
  const { promise: done, resolve: finish } = Promise.withResolvers<undefined>();

  const open = (): Http1Connection => {
    opened += 1;
    return openHttp1(job.url, job.request, job.expected);
  };
  const count = (answer: Answer | undefined, dueAt: number): void => {
    answered += 1;
    if (answer?.status === 200 && answer.isExpected) durations.push(performance.now() - dueAt);
    else if (answer?.status === 503) refused += 1;
    else {
      wrong += 1;
      example ??= answer === undefined ? "connection lost" : `${answer.status} ${answer.body.slice(0, 500)}`;
    }
    if (answered === total) finish(undefined);
  };
  const send = (connection: Http1Connection, dueAt: number): void => {
    connection.send((answer) => {
      count(answer, dueAt);
      const next = late.shift();
      if (answer === undefined) opened -= 1;
      else if (next === undefined) idle.push(connection);
      else send(connection, next);
    });
  };
  const sendDue = (dueAt: number): void => {
    const connection = idle.shift() ?? (opened < job.connections ? open() : undefined);
    if (connection === undefined) late.push(dueAt);
    else send(connection, dueAt);
  };

  for (let connection = 0; connection < job.connections; connection += 1) idle.push(open());
  await new Promise((resolve) => setTimeout(resolve, CONNECT_MS));
  const startedAt = performance.now();
  let sent = 0;
  const tick = (): void => {
    const now = performance.now();
    for (; sent < total && startedAt + sent * everyMs <= now; sent += 1) sendDue(startedAt + sent * everyMs);
    if (sent < total) setTimeout(tick, 1);
    else setTimeout(finish, PATIENCE_MS, undefined).unref();
  };
  tick();
  await done;
  const seconds = Math.max(job.seconds, (performance.now() - startedAt - (answered < total ? PATIENCE_MS : 0)) / 1_000);
  for (const connection of idle) connection.close();
  const [p50, p99] = [percentile(durations, 0.5), percentile(durations, 0.99)];
  const unanswered = total - answered;
  return {
    seconds,
    good: durations.length,
    refused,
    wrong: wrong + unanswered,
    p50,
    p99,
    ...(example !== undefined && { example }),
  };
}
