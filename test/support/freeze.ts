import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

async function familyOf(pid: number): Promise<readonly number[]> {
  const { stdout } = await run("pgrep", ["-P", String(pid)]);
  return [pid, ...stdout.split("\n").filter(Boolean).map(Number)];
}

/** Pauses a process and its children (SIGSTOP). Returns a function that resumes them. */
export async function freeze(pid: number): Promise<() => void> {
  // The parent first, so that it starts no further child.
  process.kill(pid, "SIGSTOP");
  const frozen = await familyOf(pid);
  for (const each of frozen.slice(1)) process.kill(each, "SIGSTOP");
  return () => {
    for (const each of [...frozen].reverse()) process.kill(each, "SIGCONT");
  };
}
