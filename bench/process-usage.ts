import { readFile } from "node:fs/promises";

/** What a process has used so far. */
export interface ProcessUsage {
  /** User and system time, in milliseconds; the kernel counts in steps of 10. */
  readonly cpuMs: number;
  /** Resident memory now, in MB of 2^20 bytes. */
  readonly rssMb: number;
}

const MS_PER_TICK = 10;

/** Reads /proc, so it works on Linux alone; elsewhere both are NaN. */
export async function readUsage(pid: number): Promise<ProcessUsage> {
  const [stat, status] = await Promise.all(
    ["stat", "status"].map((name) => readFile(`/proc/${pid}/${name}`, "utf8").catch(() => "")),
  );
  // The fields behind the command's closing bracket; user and system time are the 14th and 15th of all.
  const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ") ?? [];
  return {
    cpuMs: (Number(fields[11] ?? NaN) + Number(fields[12] ?? NaN)) * MS_PER_TICK,
    rssMb: Number(/VmRSS:\s+(\d+)/.exec(status ?? "")?.[1] ?? NaN) / 1024,
  };
}
