import { type Config, readConfig } from "./config.ts";
import { ConfigError } from "./settings.ts";
import { createLog } from "./log.ts";
import { describeFirstStart } from "./first-start.ts";
import { announceWorker, isPrimaryOf, leavePrimary, superviseWorkers } from "./workers.ts";

const args = process.argv.slice(2);

try {
  const config = readConfig();
  process.exitCode = await (args.length > 0 ? command(config) : serve(config));
} catch (error) {
  process.stderr.write(`patchbay: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = error instanceof ConfigError ? 2 : 1;
} finally {
  leavePrimary();
}

async function serve(config: Config): Promise<number> {
  const log = createLog(config.logLevel);
  if (isPrimaryOf(config.workers)) return superviseWorkers(config.workers, log);
  // Loaded here because the primary process and the command line do not need it.
  const { createApp } = await import("./app/app.ts");
  const app = await createApp(config, log);
  const stop = new Promise<void>((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => resolve());
  });
  try {
    const { firstAccount } = await app.listen();
    const firstStart = firstAccount === undefined ? "" : describeFirstStart(config.publicUrl, firstAccount);
    announceWorker(`patchbay listening on ${config.publicUrl}\n${firstStart}`);
    await stop;
  } finally {
    await app.close();
  }
  return 0;
}

async function command(config: Config): Promise<number> {
  const log = createLog("warn");
  const { openFoundation } = await import("./app/foundation.ts");
  const { runCommand } = await import("./transport/cli/run-command.ts");
  return runCommand(args, {
    openServices: () => openFoundation(config, log, 2),
    migrate: async () => {
      const foundation = await openFoundation(config, log, 2);
      await foundation.close();
      return foundation.migrations;
    },
    out: (text) => process.stdout.write(text),
    err: (line) => process.stderr.write(`patchbay: ${line}\n`),
  });
}
