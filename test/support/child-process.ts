import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of the project, without a slash at its end. */
export const PROJECT_FOLDER = dirname(fileURLToPath(new URL("../../package.json", import.meta.url)));

/** What to run and when it counts as started. */
export interface ChildOptions {
  readonly command: string;
  readonly args: readonly string[];
  /** The whole environment beside PATH. */
  readonly env?: Readonly<Record<string, string>>;
  /** The folder it runs in; the project's unless told. */
  readonly folder?: string;
  /** A line of its output that says that it serves. Without it the process counts as started at once. */
  readonly ready?: RegExp;
  /** How long it may take to be ready, in milliseconds. */
  readonly readyWithinMs?: number;
}

/** A process that a test started. */
export interface Child {
  readonly pid: number;
  /** All it has written so far, standard output and standard error together. */
  output(): string;
  /** What it has written to standard output so far. */
  stdout(): string;
  /** The exit code, or the signal that ended it. */
  readonly exited: Promise<number | NodeJS.Signals>;
  /** Sends a signal and waits for the end; answers at once when it has ended before. */
  end(signal: NodeJS.Signals): Promise<number | NodeJS.Signals>;
}

/** Arguments for Node by which the process ends with this one, however that ends. Its file descriptor 3 must be a pipe. */
export function endingWithUs(args: readonly string[]): string[] {
  return ["--import", new URL(`end-with-parent.js?parent=${process.pid}`, import.meta.url).href, ...args];
}

/** Starts a process, which ends with this one if it is Node, and waits until it is ready. Fails with its output when it ends first. */
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

/** Runs a process to its end. */
export async function runChild(
  options: ChildOptions,
): Promise<{ readonly code: number | NodeJS.Signals; readonly stdout: string; readonly output: string }> {
  const child = await startChild(options);
  const code = await child.exited;
  return { code, stdout: child.stdout(), output: child.output() };
}
