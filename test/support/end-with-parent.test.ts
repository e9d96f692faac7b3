import { expect, test } from "vitest";
import { type Child, startChild } from "./child-process.ts";
import { freePort } from "./free-port.ts";

async function answers(url: string): Promise<boolean> {
  return fetch(url).then(
    () => true,
    () => false,
  );
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Starts another process, prints its id, and keeps it running. */
const PARENT = `
  import { startChild } from "./test/support/child-process.ts";
  const { pid } = await startChild({ command: process.execPath, args: ["-e", "setInterval(() => {}, 1000); console.log('up')"], ready: /up/ });
  console.log("child " + pid);
  setInterval(() => {}, 1000);
`;

test("a process started by a test exits when the test's process is killed", async () => {
  const parent = await startChild({
    command: process.execPath,
    args: ["--input-type=module", "-e", PARENT],
    ready: /child \d+/,
  });
  const pid = Number(/child (\d+)/.exec(parent.output())?.[1]);
  expect(isAlive(pid)).toBe(true);
  await parent.end("SIGKILL");
  await expect.poll(() => isAlive(pid), { timeout: 30_000 }).toBe(false);
}, 90_000);

test("the mock and its Prism exit when the npm that runs them is killed", async () => {
  const port = await freePort();
  const npm: Child = await startChild({
    command: "npm",
    args: ["run", "mock", "--", "--port", String(port)],
    ready: /^mock listening on /m,
  });
  const url = `http://127.0.0.1:${port}/healthz`;
  expect(await answers(url)).toBe(true);
  await Promise.all([npm.end("SIGKILL"), expect.poll(() => answers(url), { timeout: 60_000 }).toBe(false)]);
}, 120_000);
