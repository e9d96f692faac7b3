import { spawn } from "node:child_process";
import { Socket } from "node:net";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { Logger } from "pino";
import { ignoreError } from "../ignore-error.ts";
import { PROGRAM_ENV } from "./cluster.ts";

/** A process that outlives this one briefly and stops the embedded database if nobody else uses it. */
export interface Watchdog {
  /** Stops the watchdog without any effect. */
  dismiss(): void;
}

/**
 * A line on the pipe means a regular stop. The end of the pipe without such a line means that this process ended
 * unexpectedly.
 */
const WAIT = `trap '' HUP INT TERM; read -r _ && exit 0; exec "$0" "$@"`;

/** Starts the watchdog. It is a shell, which needs a hundredth of Node's memory. */
export function startWatchdog(dataDir: string, log: Logger): Watchdog {
  const script = fileURLToPath(new URL("stop-unused.ts", import.meta.url));
  const child = spawn("/bin/sh", ["-c", WAIT, process.execPath, script, resolve(dataDir)], {
    cwd: "/",
    env: PROGRAM_ENV,
    // In its own process group, so that a signal to this process's group does not reach it.
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
