import type { LoadProcess } from "./load-process.ts";
import type { Contestant } from "./contestant.ts";
import { readUsage } from "./process-usage.ts";

/** Resident memory before and after 100,000 requests, in MB. */
export interface MemoryGrowth {
  readonly idleMb: number;
  readonly workedMb: number;
}

const REQUESTS = 100_000;

/** Runs a contestant until it has answered 100,000 requests. Must run first, while the service is idle. */
export async function measureMemory(load: LoadProcess, { subject, job }: Contestant): Promise<MemoryGrowth> {
  const { rssMb: idleMb } = await readUsage(subject.pid);
  for (let answered = 0; answered < REQUESTS;) answered += (await load.run(job)).good;
  return { idleMb, workedMb: (await readUsage(subject.pid)).rssMb };
}
