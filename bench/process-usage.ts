import { readFile } from "node:fs/promises";

export interface ProcessUsage {
  /** User and system time in milliseconds; the kernel counts in steps of 10. */
  readonly cpuMs: number;
  /** Current resident memory in MB of 2^20 bytes. */
  readonly rssMb: number;
}

const MS_PER_TICK = 10;

/** Reads /proc, so it works only on Linux; elsewhere both values are NaN. */
export async function readUsage(pid: number): Promise<ProcessUsage> {
  const [stat, status] = await Promise.all(
    ["stat", "status"].map((name) => readFile(`/proc/${pid}/${name}`, "utf8").catch(() => "")),
  );
  // After the closing bracket of the command, user and system time are fields 14 and 15 of the whole line.
  const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ") ?? [];
  return {
    cpuMs: (Number(fields[11] ?? NaN) + Number(fields[12] ?? NaN)) * MS_PER_TICK,
    rssMb: Number(/VmRSS:\s+(\d+)/.exec(status ?? "")?.[1] ?? NaN) / 1024,
  };
}
