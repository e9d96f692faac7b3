import { createApp } from "./app.ts";
import { type Config, ConfigError, readConfig } from "./config.ts";
import { openFoundation } from "./foundation.ts";
import { createLog } from "./log.ts";
import { describeFirstStart } from "./first-start.ts";
import { runCommand } from "./transport/cli/run-command.ts";

const args = process.argv.slice(2);

try {
  const config = readConfig();
  process.exitCode = await (args.length > 0 ? command(config) : serve(config));
} catch (error) {
  process.stderr.write(`patchbay: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = error instanceof ConfigError ? 2 : 1;
}

async function serve(config: Config): Promise<number> {
  const log = createLog(config.logLevel);
  const app = await createApp(config, log);
  const stop = new Promise<void>((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => resolve());
  });
  try {
    const { firstAccount } = await app.listen();
    process.stdout.write(`patchbay listening on ${config.publicUrl}\n`);
    if (firstAccount !== undefined) process.stdout.write(describeFirstStart(config.publicUrl, firstAccount));
    await stop;
  } finally {
    await app.close();
  }
  return 0;
}

async function command(config: Config): Promise<number> {
  const log = createLog("warn");
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
