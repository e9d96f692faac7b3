import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { isJsonObject, type JsonObject, parseJson } from "../../src/json.ts";
import { type Child, PROJECT_FOLDER, runChild, startChild } from "./child-process.ts";
import { freePort } from "./free-port.ts";

/** How the service is started. */
export interface ServiceOptions {
  /** PostgreSQL; without it the service starts its own in `DATA_DIR`, which `env` must then name. */
  readonly databaseUrl?: string;
  /** The same for every replica on one database; random unless told. */
  readonly masterKeys?: string;
  /** Further settings, as the operator makes them. */
  readonly env?: Readonly<Record<string, string>>;
}

/** The real service as a process of its own. */
export interface Service {
  /** Where it listens; the same after a restart. */
  readonly url: string;
  /** The environment it runs in, to run commands and replicas in the same. */
  readonly env: Readonly<Record<string, string>>;
  /** All it has written, over every restart. */
  output(): string;
  /** What it wrote to standard output since it was last started. */
  stdout(): string;
  pid(): number;
  /** SIGTERM; the exit code. */
  stop(): Promise<number | NodeJS.Signals>;
  /** SIGKILL: no chance to tidy up. */
  kill(): Promise<void>;
  /** Starts it again after `stop` or `kill`. */
  start(): Promise<void>;
  /** Runs a command beside it and gives the one JSON object that it prints. Fails when the command fails. */
  command(...args: readonly string[]): Promise<JsonObject>;
}

/** A fresh master key of version 1. */
export function createMasterKeys(): string {
  return `1:${randomBytes(32).toString("base64")}`;
}

/** What a script of package.json gives to Node, so that tests run what npm runs. */
function entry(script: "start" | "patchbay"): readonly string[] {
  const manifest = JSON.parse(readFileSync(`${PROJECT_FOLDER}/package.json`, "utf8")) as {
    scripts: Record<string, string>;
  };
  const [command, ...args] = (manifest.scripts[script] ?? "").replace(/^exec /, "").split(" ");
  if (command !== "node") throw new Error(`the script ${script} does not start with node`);
  return args;
}

/** Starts the service and waits for its line. */
export async function startService(options: ServiceOptions): Promise<Service> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const env: Record<string, string> = {
    PORT: String(port),
    LOG_LEVEL: "debug",
    ...(options.databaseUrl !== undefined && {
      DATABASE_URL: options.databaseUrl,
      PATCHBAY_KEYS: options.masterKeys ?? createMasterKeys(),
    }),
    ...options.env,
  };
  const launch = (): Promise<Child> =>
    startChild({ command: process.execPath, args: entry("start"), env, ready: /^patchbay listening on http\S+$/m });
  let child = await launch();
  let earlier = "";
  const ended = (): void => {
    earlier += child.output();
  };
  return {
    url,
    env,
    output: () => earlier + child.output(),
    stdout: () => child.stdout(),
    pid: () => child.pid,
    stop: () => child.end("SIGTERM"),
    kill: async () => {
      await child.end("SIGKILL");
    },
    start: async () => {
      await child.exited;
      ended();
      child = await launch();
    },
    command: (...args) => runCommand(env, ...args),
  };
}

/** Runs a command of the service's command line with `--json`. */
export async function runCommand(
  env: Readonly<Record<string, string>>,
  ...args: readonly string[]
): Promise<JsonObject> {
  const { code, stdout, output } = await runChild({
    command: process.execPath,
    args: [...entry("patchbay"), ...args, "--json"],
    env,
    folder: PROJECT_FOLDER,
  });
  if (code !== 0) throw new Error(`${args.join(" ")} ended with ${String(code)}: ${output}`);
  const answer = parseJson(stdout, { maxDepth: 32 });
  if (!isJsonObject(answer)) throw new Error(`${args.join(" ")} printed no JSON object: ${stdout}`);
  return answer;
}
