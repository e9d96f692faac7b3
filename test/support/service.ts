import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { isJsonObject, type JsonObject, parseJson } from "../../src/json.ts";
import { type Child, PROJECT_FOLDER, runChild, startChild } from "./child-process.ts";
import { freePort } from "./free-port.ts";

export interface ServiceOptions {
  /** The PostgreSQL address. Without it the service starts its own in `DATA_DIR`, which `env` must contain. */
  readonly databaseUrl?: string;
  /** Shared by all replicas on one database. Default: random. */
  readonly masterKeys?: string;
  /** Where the source is. Default: this project. */
  readonly folder?: string;
  /** How long the start may take. Default: a minute. */
  readonly readyWithinMs?: number;
  /** Further settings. */
  readonly env?: Readonly<Record<string, string>>;
}

/** The real service as a separate process. */
export interface Service {
  /** Its address, which a restart keeps. */
  readonly url: string;
  /** Its environment, for commands and replicas. */
  readonly env: Readonly<Record<string, string>>;
  /** Its output since the first start. */
  output(): string;
  /** Its standard output since the last start. */
  stdout(): string;
  pid(): number;
  /** Sends SIGTERM and returns the exit code. */
  stop(): Promise<number | NodeJS.Signals>;
  /** Sends SIGKILL. */
  kill(): Promise<void>;
  /** Starts it again after `stop` or `kill`. */
  start(): Promise<void>;
  /** Runs a command in its environment and returns the JSON object that it prints. Throws if the command fails. */
  command(...args: readonly string[]): Promise<JsonObject>;
}

/** A new master key of version 1. */
export function createMasterKeys(): string {
  return `1:${randomBytes(32).toString("base64")}`;
}

/** The Node options of a script in package.json, so that tests run what npm runs. */
function entry(script: "start" | "patchbay"): readonly string[] {
  const manifest = JSON.parse(readFileSync(`${PROJECT_FOLDER}/package.json`, "utf8")) as {
    scripts: Record<string, string>;
  };
  const [command, ...args] = (manifest.scripts[script] ?? "").replace(/^exec /, "").split(" ");
  if (command !== "node") throw new Error(`the script ${script} does not start with node`);
  return args;
}

/** Starts the service and waits until it is ready. */
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
    startChild({
      command: process.execPath,
      args: entry("start"),
      env,
      ready: /^patchbay listening on http\S+$/m,
      ...(options.readyWithinMs !== undefined && { readyWithinMs: options.readyWithinMs }),
      ...(options.folder !== undefined && { folder: options.folder }),
    });
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
  if (code !== 0) throw new Error(`${args.join(" ")} failed with ${String(code)}: ${output}`);
  const answer = parseJson(stdout, { maxDepth: 32 });
  if (!isJsonObject(answer)) throw new Error(`${args.join(" ")} printed no JSON object: ${stdout}`);
  return answer;
}
