import { execFileSync } from "node:child_process";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { startService, type Service } from "../support/service.ts";

/** The ids of a process's children. */
function childrenOf(pid: number): readonly number[] {
  const lines = execFileSync("ps", ["-eo", "pid=,ppid="], { encoding: "utf8" }).split("\n");
  return lines.flatMap((line) => {
    const [child, parent] = line.trim().split(/\s+/).map(Number);
    return parent === pid && child !== undefined ? [child] : [];
  });
}

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

describe("with WORKERS=2", () => {
  let database: TestDatabase;
  let service: Service;

  beforeAll(async () => {
    database = await createTestDatabase({ empty: true });
    service = await startService({ databaseUrl: database.url, env: { WORKERS: "2" } });
  });

  afterAll(async () => {
    await service?.kill();
    await database?.close();
  });

  const probe = async (): Promise<number> => (await fetch(`${service.url}/readyz`)).status;

  test("prints the ready line and the first-start text once", () => {
    expect(service.stdout().match(/^patchbay listening on /gm)).toHaveLength(1);
    expect(service.stdout().match(/client secret/g)).toHaveLength(1);
  });

  test("both workers serve HTTP/1.1 on the same port", async () => {
    expect(childrenOf(service.pid())).toHaveLength(2);
    expect(await Promise.all(Array.from({ length: 20 }, probe))).toEqual(Array.from({ length: 20 }, () => 200));
  });

  test("replaces a killed worker while requests are served", async () => {
    const before = childrenOf(service.pid());
    const [victim = 0] = before;
    process.kill(victim, "SIGKILL");
    await vi.waitFor(() => expect(isRunning(victim)).toBe(false), { timeout: 10_000 });
    expect(await probe()).toBe(200);
    await vi.waitFor(() => expect(childrenOf(service.pid()).filter((pid) => pid !== victim)).toHaveLength(2), {
      timeout: 20_000,
    });
  });

  test("SIGTERM stops all workers with exit code 0", async () => {
    const workers = childrenOf(service.pid());
    expect(await service.stop()).toBe(0);
    expect(workers.filter(isRunning)).toEqual([]);
  });
});

test("a service that cannot start prints a reason and exits instead of retrying forever", async () => {
  const env = { DATABASE_URL: "postgres://nobody:x@127.0.0.1:1/none", WORKERS: "2" };
  await expect(startService({ databaseUrl: env.DATABASE_URL, env })).rejects.toThrow(/ended with 1/);
});
