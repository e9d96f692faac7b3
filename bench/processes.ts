import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Child, PROJECT_FOLDER, startChild } from "../test/support/child-process.ts";
import { freePort } from "../test/support/free-port.ts";

/** A server under load. */
export interface Subject {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** Starts one of the bench's own servers, `floor` or `upstream`. */
export async function startBare(name: "floor" | "upstream", env: Readonly<Record<string, string>>): Promise<Subject> {
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

/** Starts the service exactly as `npm start` does, without npm in between. */
export async function startPatchbay(env: Readonly<Record<string, string>>): Promise<Subject> {
  const port = await freePort();
  const args = (await startScript()).split(/.*\bnode /)[1]?.split(" ") ?? [];
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

async function startScript(): Promise<string> {
  const manifest = JSON.parse(await readFile(join(PROJECT_FOLDER, "package.json"), "utf8")) as {
    scripts: { start: string };
  };
  return manifest.scripts.start;
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
