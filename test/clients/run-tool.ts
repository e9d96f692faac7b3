import { execFile } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { PROJECT_FOLDER } from "../support/child-process.ts";

/** No step of a build or a story takes longer, in milliseconds. */
const LIMIT_MS = 300_000;

/** Where and with what a tool runs. */
export interface Surroundings {
  readonly folder?: string;
  /** On top of our own environment, which holds what the toolchains are set up with. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs a tool to its end and gives its standard output; fails with all that it wrote. */
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

/** Those of the commands that PATH does not have. */
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
