import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startPatchbay } from "./processes.ts";
import { readUsage } from "./process-usage.ts";

/** Start-up time and memory, before and after load. */
export interface ColdStart {
  /** From `npm start` to the first line, in milliseconds: with an empty folder, and again. */
  readonly firstStartMs: number;
  readonly secondStartMs: number;
  /** Resident memory some seconds after the start, in MB. */
  readonly firstIdleMb: number;
  readonly secondIdleMb: number;
}

const SETTLE_MS = 3_000;

/** Starts the service twice with its own folder and embedded database. */
export async function measureColdStart(): Promise<ColdStart> {
  const dataDir = await mkdtemp(join(tmpdir(), "patchbay-bench-"));
  const look = async (): Promise<{ ms: number; mb: number }> => {
    const startedAt = performance.now();
    const service = await startPatchbay({ DATA_DIR: dataDir });
    const ms = performance.now() - startedAt;
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    const { rssMb } = await readUsage(service.pid);
    await service.stop();
    return { ms, mb: rssMb };
  };
  try {
    const first = await look();
    const second = await look();
    return { firstStartMs: first.ms, secondStartMs: second.ms, firstIdleMb: first.mb, secondIdleMb: second.mb };
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}
