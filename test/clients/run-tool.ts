import { execFile } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { PROJECT_FOLDER } from "../support/child-process.ts";

/** The time limit of one build or run step, in milliseconds. */
const LIMIT_MS = 300_000;

export interface Surroundings {
  readonly folder?: string;
  /** Added to the current environment, which configures the toolchains. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs a tool and returns its standard output. Throws with its full output if it fails. */
export function runTool(command: string, args: readonly string[], surroundings: Surroundings = {}): Promise<string> {
  const { folder = PROJECT_FOLDER, env = {} } = surroundings;
  const options = { cwd: folder, env: { ...process.env, ...env }, timeout: LIMIT_MS, maxBuffer: 64 * 1024 * 1024 };
  return new Promise((resolve, reject) => {
    execFile(command, [...args], options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${error.message}\n${stdout}\n${stderr}`));
    });
  });
}

/** Returns the commands that are not on PATH. */
export function missing(commands: readonly string[]): readonly string[] {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  return commands.filter((command) => !folders.some((folder) => isExecutable(join(folder, command))));
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
