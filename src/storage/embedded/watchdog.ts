import { spawn } from "node:child_process";
import { Socket } from "node:net";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { Logger } from "pino";
import { ignoreError } from "../ignore-error.ts";
import { PROGRAM_ENV } from "./cluster.ts";

/** A process that outlives this one by a moment, to stop the embedded database if nobody else uses it. */
export interface Watchdog {
  /** Ends it without any effect. */
  dismiss(): void;
}

/** A line says that all is well; the end of the input without one says that this process is gone, however it ended. */
const WAIT = `trap '' HUP INT TERM; read -r _ && exit 0; exec "$0" "$@"`;

/** Starts it. It waits as a shell, which takes a hundredth of the memory that Node would. */
export function startWatchdog(dataDir: string, log: Logger): Watchdog {
  const script = fileURLToPath(new URL("stop-unused.ts", import.meta.url));
  const child = spawn("/bin/sh", ["-c", WAIT, process.execPath, script, resolve(dataDir)], {
    cwd: "/",
    env: PROGRAM_ENV,
    // Of its own group, so that what ends this process's group spares it.
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  child.once("error", (error) => {
    log.warn({ err: error }, "the embedded PostgreSQL will not be stopped if this process is killed");
  });
  child.stdin.on("error", ignoreError);
  child.unref();
  if (child.stdin instanceof Socket) child.stdin.unref();
  return { dismiss: () => void child.stdin.end("\n") };
}
