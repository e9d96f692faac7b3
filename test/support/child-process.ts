import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

/** The project folder, without a trailing slash. */
export const PROJECT_FOLDER = dirname(fileURLToPath(new URL("../../package.json", import.meta.url)));

export interface ChildOptions {
  readonly command: string;
  readonly args: readonly string[];
  /** The whole environment, except PATH. */
  readonly env?: Readonly<Record<string, string>>;
  /** The working directory. Default: the project. */
  readonly folder?: string;
  /** An output line that shows that the process is ready. Without it the process counts as ready at once. */
  readonly ready?: RegExp;
  /** The time limit until it is ready, in milliseconds. */
  readonly readyWithinMs?: number;
}

export interface Child {
  readonly pid: number;
  /** Its standard output and standard error so far. */
  output(): string;
  /** Its standard output so far. */
  stdout(): string;
  /** The exit code, or the signal that ended it. */
  readonly exited: Promise<number | NodeJS.Signals>;
  /** Sends a signal and waits for the exit. */
  end(signal: NodeJS.Signals): Promise<number | NodeJS.Signals>;
}

/** Arguments that make a Node process exit when this one exits. Its file descriptor 3 must be a pipe. */
export function endingWithUs(args: readonly string[]): string[] {
  return ["--import", new URL(`end-with-parent.js?parent=${process.pid}`, import.meta.url).href, ...args];
}

/**
 * Starts a process and waits until it is ready. Node processes exit when this one exits. Throws with the output if the
 * process exits first.
 */
export async function startChild(options: ChildOptions): Promise<Child> {
  const { command, args, env = {}, folder = PROJECT_FOLDER, ready, readyWithinMs = 60_000 } = options;
  const child = spawn(command, command === process.execPath ? endingWithUs(args) : [...args], {
    cwd: folder,
    env: { PATH: process.env["PATH"] ?? "", ...env },
    stdio: ["ignore", "pipe", "pipe", "pipe"],
  });
  let output = "";
  let stdout = "";
  child.stdout?.on("data", (chunk: Buffer) => {
    output += chunk.toString();
    stdout += chunk.toString();
  });
  child.stderr?.on("data", (chunk: Buffer) => {
    output += chunk.toString();
  });
  const exited = exitOf(child);
  if (ready !== undefined) await waitUntilReady(child, ready, readyWithinMs, () => output);
  return {
    pid: child.pid ?? 0,
    output: () => output,
    stdout: () => stdout,
    exited,
    end: (signal) => {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      return exited;
    },
  };
}

async function exitOf(child: ChildProcess): Promise<number | NodeJS.Signals> {
  const [code, signal]: unknown[] = await once(child, "close");
  return typeof code === "number" ? code : toSignal(signal);
}

function toSignal(signal: unknown): NodeJS.Signals {
  return signal as NodeJS.Signals;
}

async function waitUntilReady(
  child: ChildProcess,
  ready: RegExp,
  withinMs: number,
  output: () => string,
): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const fail = (what: string): void => {
      stop();
      child.kill("SIGKILL");
      reject(new Error(`${child.spawnargs.join(" ")} ${what}:\n${output()}`));
    };
    const look = (): void => {
      if (!ready.test(output())) return;
      stop();
      resolve();
    };
    const onExit = (code: number | null): void => fail(`ended with ${String(code)}`);
    const timer = setTimeout(() => fail(`was not ready within ${String(withinMs)} ms`), withinMs);
    const stop = (): void => {
      clearTimeout(timer);
      child.off("exit", onExit);
      child.stdout?.off("data", look);
      child.stderr?.off("data", look);
    };
    child.once("exit", onExit);
    child.stdout?.on("data", look);
    child.stderr?.on("data", look);
  });
}

/** Runs a process until it exits. */
export async function runChild(
  options: ChildOptions,
): Promise<{ readonly code: number | NodeJS.Signals; readonly stdout: string; readonly output: string }> {
  const child = await startChild(options);
  const code = await child.exited;
  return { code, stdout: child.stdout(), output: child.output() };
}
