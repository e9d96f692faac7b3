import cluster, { type Worker } from "node:cluster";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;
/** A worker that served this long failed for a new reason, so its replacement starts without a pause. */
const STEADY_MS = 30_000;

/** Prints text for the operator once requests are served, through the primary process if this is a worker. */
export function announceWorker(text: string): void {
  if (cluster.isWorker) process.send?.(text);
  else process.stdout.write(text);
}

/** Closes the channel to the primary, which would keep the worker alive. */
export function leavePrimary(): void {
  cluster.worker?.disconnect();
}

/** Whether this process starts `count` workers instead of serving. */
export function isPrimaryOf(count: number): boolean {
  return count > 1 && cluster.isPrimary;
}

/**
 * Keeps `count` workers running on one port, each a replica, and prints the first one's announcement when all serve.
 * Restarts a worker that exits. If the first worker cannot start, its exit code is returned. SIGTERM and SIGINT stop
 * all workers.
 */
export async function superviseWorkers(count: number, log: Logger): Promise<number> {
  const stopping = new AbortController();
  const stop = (): void => {
    stopping.abort();
    for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill("SIGTERM");
  };
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, stop);

  // The first worker starts the database, migrates it and creates the first account before the others start.
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
  /** The announcement; undefined if the worker exited before. */
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
    log.warn("a worker exited; starting a replacement");
    await sleep(pauseMs, undefined, { signal: stopping }).catch(() => undefined);
    const startedAt = Date.now();
    if (!isAborted(stopping)) await (await startWorker()).exited;
    pauseMs = Date.now() - startedAt > STEADY_MS ? FIRST_PAUSE_MS : Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
  }
}

function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}
