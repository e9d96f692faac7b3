import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { DomainError } from "../../domain-error.ts";
import { accountCommands } from "./account-commands.ts";
import { clientCommands } from "./client-commands.ts";
import { type Command, type CommandDeps, type GivenOptions, UsageError } from "./command.ts";
import { keyCommands } from "./key-commands.ts";
import { personalAccessTokenCommands } from "./personal-access-token-commands.ts";

const PROGRAM = "npm run -s patchbay --";

const migrateCommand: Command = {
  name: "migrate",
  synopsis: "",
  summary: "brings the database up to date; the server does so by itself when it starts",
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
      text: `Write ${PROGRAM} and one of these; with --json the answer is one JSON object.\n\n${text}`,
    };
  },
};

const COMMANDS: readonly Command[] = [
  ...accountCommands,
  ...clientCommands,
  ...personalAccessTokenCommands,
  ...keyCommands,
  migrateCommand,
  helpCommand,
];

function usageOf(command: Command): string {
  return `Write: ${PROGRAM} ${command.name} ${command.synopsis}`.trimEnd();
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
  const advice = near.length === 0 ? `Write: ${PROGRAM} help` : `Write one of: ${near.join(", ")}.`;
  throw new UsageError(`There is no command ${JSON.stringify(asked)}. ${advice}`);
}

function readOptions(command: Command, args: readonly string[]): GivenOptions {
  const options: ParseArgsOptionsConfig = { ...command.options, json: { type: "boolean" } };
  let parsed: ReturnType<typeof parseArgs>;
  try {
    parsed = parseArgs({ args: [...args], options, strict: true, allowPositionals: command.takesValue ?? false });
  } catch (error) {
    // Node's sentence goes on about what else could be meant.
    const fault = error instanceof Error ? (error.message.split(/[.\n]/, 1)[0] ?? "") : "The options cannot be read";
    throw new UsageError(`${fault}. ${usageOf(command)}`);
  }
  const { values, positionals } = parsed;
  if (positionals.length > 1) throw new UsageError(`One value is enough. ${usageOf(command)}`);

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
      throw new UsageError(`--${name} is a whole number from 1 to ${max}. ${usageOf(command)}`);
    },
  };
}

/** The failures that say something to whoever typed the command; any other is a fault of ours. */
function exitCodeOf(error: unknown): 1 | 2 {
  return error instanceof UsageError || (error instanceof DomainError && error.kind === "invalid") ? 2 : 1;
}

/**
 * Runs one command and gives the exit code: 0, 1 when it cannot be done, 2 when the command line is wrong.
 * With `--json` standard output is one JSON object; a failure is one line on standard error.
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
