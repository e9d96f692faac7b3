import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Child, PROJECT_FOLDER, startChild } from "../test/support/child-process.ts";
import { freePort } from "../test/support/free-port.ts";

export interface Subject {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** Starts one of the benchmark's own servers. */
export async function startBare(
  name: "floor" | "upstream" | "sdk-server",
  env: Readonly<Record<string, string>>,
): Promise<Subject> {
  const port = await freePort();
  return subject(
    port,
    await startChild({
      command: process.execPath,
      args: [`bench/${name}.ts`],
      env: { ...env, PORT: String(port) },
      ready: /listening/,
    }),
  );
}

/** Starts the service like `npm start`, without npm. */
export async function startPatchbay(env: Readonly<Record<string, string>>): Promise<Subject> {
  return startService(await startArguments(), env);
}

/** Starts the service the same way, with the benchmark's local integration. */
export async function startLocalService(env: Readonly<Record<string, string>>): Promise<Subject> {
  const args = await startArguments();
  return startService([...args.slice(0, -1), "bench/local-service.ts"], env);
}

async function startService(args: readonly string[], env: Readonly<Record<string, string>>): Promise<Subject> {
  const port = await freePort();
  return subject(
    port,
    await startChild({
      command: process.execPath,
      args,
      env: { ...env, PORT: String(port) },
      ready: /^patchbay listening on /m,
    }),
  );
}

async function startArguments(): Promise<readonly string[]> {
  const manifest = JSON.parse(await readFile(join(PROJECT_FOLDER, "package.json"), "utf8")) as {
    scripts: { start: string };
  };
  return manifest.scripts.start.split("node ").at(-1)?.split(" ") ?? [];
}

function subject(port: number, child: Child): Subject {
  return {
    url: `http://127.0.0.1:${port}`,
    pid: child.pid,
    stop: async () => {
      await child.end("SIGTERM");
    },
  };
}
