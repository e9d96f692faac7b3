import cluster, { type Worker } from "node:cluster";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;
/** A worker that served for this long dies of something new, so the next one starts without a pause. */
const STEADY_MS = 30_000;

/** Tells the operator, through the primary process where this one is a worker, that requests are answered. */
export function announceWorker(text: string): void {
  if (cluster.isWorker) process.send?.(text);
  else process.stdout.write(text);
}

/** Lets a worker end: without this its tie to the primary keeps it alive. */
export function leavePrimary(): void {
  cluster.worker?.disconnect();
}

/** Whether this process is to start `count` others instead of serving by itself. */
export function isPrimaryOf(count: number): boolean {
  return count > 1 && cluster.isPrimary;
}

/**
 * Keeps `count` processes serving one port, each a replica of its own, and prints what the first one announces once all
 * do. One that dies is started again; when the first cannot start at all, its exit code is the whole's. SIGTERM and
 * SIGINT stop all; resolves with the exit code.
 */
export async function superviseWorkers(count: number, log: Logger): Promise<number> {
  const stopping = new AbortController();
  const stop = (): void => {
    stopping.abort();
    for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill("SIGTERM");
  };
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, stop);

  // The first alone, so that the database is started, migrated and given its first account once.
  const first = await startWorker();
  if (first.text === undefined) return stopping.signal.aborted ? 0 : (first.worker.process.exitCode ?? 1);
  const missing = stopping.signal.aborted ? 0 : count - 1;
  const others = await Promise.all(Array.from({ length: missing }, startWorker));
  process.stdout.write(first.text);
  await Promise.all([first, ...others].map(({ exited }) => keepAlive(exited, stopping.signal, log)));
  return 0;
}

interface Started {
  readonly worker: Worker;
  /** What it announced; undefined when it ended before. */
  readonly text: string | undefined;
  readonly exited: Promise<unknown>;
}

async function startWorker(): Promise<Started> {
  const worker = cluster.fork();
  const exited = once(worker, "exit");
  const announced = once(worker, "message").then(([text]: unknown[]) => String(text));
  return { worker, exited, text: await Promise.race([announced, exited.then(() => undefined)]) };
}

async function keepAlive(firstExit: Promise<unknown>, stopping: AbortSignal, log: Logger): Promise<void> {
  await firstExit;
  let pauseMs = FIRST_PAUSE_MS;
  while (!stopping.aborted) {
    log.warn("a worker ended; starting another");
    await sleep(pauseMs, undefined, { signal: stopping }).catch(() => undefined);
    const startedAt = Date.now();
    if (!isAborted(stopping)) await (await startWorker()).exited;
    pauseMs = Date.now() - startedAt > STEADY_MS ? FIRST_PAUSE_MS : Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
  }
}

function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}
