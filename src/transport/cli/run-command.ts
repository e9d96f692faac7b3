import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { DomainError } from "../../domain-error.ts";
import { accountCommands } from "./account-commands.ts";
import { clientCommands } from "./client-commands.ts";
import { type Command, type CommandDeps, type GivenOptions, UsageError } from "./command.ts";
import { keyCommands } from "./key-commands.ts";
import { memberCommands } from "./member-commands.ts";
import { personalAccessTokenCommands } from "./personal-access-token-commands.ts";

const PROGRAM = "npm run -s patchbay --";

const migrateCommand: Command = {
  name: "migrate",
  synopsis: "",
  summary: "runs pending migrations; the server also runs them at start",
  options: {},
  async run(_given, deps) {
    const migrations = await deps.migrate();
    const text = migrations.length === 0 ? "The database is up to date." : `Ran ${migrations.join(", ")}.`;
    return { json: { migrations: [...migrations] }, text };
  },
};

const helpCommand: Command = {
  name: "help",
  synopsis: "",
  summary: "prints this",
  options: {},
  async run() {
    const text = COMMANDS.map(
      ({ name, synopsis, summary }) => `  ${`${name} ${synopsis}`.trimEnd()}\n      ${summary}`,
    ).join("\n");
    const commands = COMMANDS.map(({ name, synopsis }) => `${name} ${synopsis}`.trimEnd());
    return {
      json: { commands },
      text: `Usage: ${PROGRAM} <command>. With --json the output is one JSON object.\n\n${text}`,
    };
  },
};

const COMMANDS: readonly Command[] = [
  ...accountCommands,
  ...memberCommands,
  ...clientCommands,
  ...personalAccessTokenCommands,
  ...keyCommands,
  migrateCommand,
  helpCommand,
];

function usageOf(command: Command): string {
  return `Usage: ${PROGRAM} ${command.name} ${command.synopsis}`.trimEnd();
}

function findCommand(args: readonly string[]): { command: Command; rest: readonly string[] } {
  const words = args[0] === "--help" || args[0] === "-h" || args.length === 0 ? ["help"] : args;
  for (const command of COMMANDS) {
    const length = command.name.split(" ").length;
    if (words.slice(0, length).join(" ") === command.name) return { command, rest: words.slice(length) };
  }
  const asked = words
    .slice(0, 2)
    .filter((word) => !word.startsWith("-"))
    .join(" ");
  const near = COMMANDS.filter(({ name }) => name.split(" ")[0] === words[0]).map(({ name }) => name);
  const advice = near.length === 0 ? `See: ${PROGRAM} help.` : `Did you mean: ${near.join(", ")}?`;
  throw new UsageError(`Unknown command ${JSON.stringify(asked)}. ${advice}`);
}

function readOptions(command: Command, args: readonly string[]): GivenOptions {
  const options: ParseArgsOptionsConfig = { ...command.options, json: { type: "boolean" } };
  let parsed: ReturnType<typeof parseArgs>;
  try {
    parsed = parseArgs({ args: [...args], options, strict: true, allowPositionals: command.takesValue ?? false });
  } catch (error) {
    // The rest of Node's message lists alternatives; only the first sentence is useful.
    const fault = error instanceof Error ? (error.message.split(/[.\n]/, 1)[0] ?? "") : "The options cannot be read";
    throw new UsageError(`${fault}. ${usageOf(command)}`);
  }
  const { values, positionals } = parsed;
  if (positionals.length > 1) throw new UsageError(`Only one value is allowed. ${usageOf(command)}`);

  function text(...names: readonly string[]): string | undefined {
    for (const name of names) {
      const value = values[name];
      if (typeof value === "string") return value;
    }
    return positionals[0];
  }
  return {
    flag: (name) => values[name] === true,
    text,
    required(...names) {
      const value = text(...names);
      if (value === undefined || value === "")
        throw new UsageError(`--${names.join(" or --")} is missing. ${usageOf(command)}`);
      return value;
    },
    count(name, max) {
      const value = values[name];
      if (value === undefined) return undefined;
      if (typeof value === "string" && /^[1-9][0-9]{0,9}$/.test(value) && Number(value) <= max) return Number(value);
      throw new UsageError(`--${name} must be an integer from 1 to ${max}. ${usageOf(command)}`);
    },
  };
}

/** Errors whose message is meant for the user; any other error is a bug. */
function exitCodeOf(error: unknown): 1 | 2 {
  return error instanceof UsageError || (error instanceof DomainError && error.kind === "invalid") ? 2 : 1;
}

/**
 * Runs one command and returns the exit code: 0, 1 if it failed, 2 if the command line is wrong. With `--json` standard
 * output is one JSON object; an error is one line on standard error.
 */
export async function runCommand(args: readonly string[], deps: CommandDeps): Promise<0 | 1 | 2> {
  try {
    const { command, rest } = findCommand(args);
    const given = readOptions(command, rest);
    const { json, text } = await command.run(given, deps);
    deps.out(`${given.flag("json") ? JSON.stringify(json) : text}\n`);
    return 0;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    deps.err(message.replaceAll(/\s+/g, (space) => (space.includes("\n") ? " " : space)));
    return exitCodeOf(error);
  }
}
