import type { ParseArgsOptionsConfig } from "node:util";
import type { Accounts } from "../../identity/accounts/accounts.ts";
import type { OAuthClients } from "../../identity/clients/clients.ts";
import type { KeyRotation } from "../../identity/keys/key-rotation.ts";
import type { PersonalAccessTokens } from "../../identity/tokens/personal-access-tokens.ts";
import type { RewrapSecrets } from "../../identity/keys/rewrap-secrets.ts";
import type { JsonObject } from "../../json.ts";

/** What commands act on: the database of the installation, which a running server may share. */
export interface CommandServices {
  readonly accounts: Accounts;
  readonly clients: OAuthClients;
  readonly personalAccessTokens: PersonalAccessTokens;
  readonly keyRotation: KeyRotation;
  readonly rewrapSecrets: RewrapSecrets;
  close(): Promise<void>;
}

/** How commands reach the world. */
export interface CommandDeps {
  /** Opens the migrated database; only commands that need it call this. */
  openServices(): Promise<CommandServices>;
  /** Brings the database up to date and gives the names of the migrations that ran. */
  migrate(): Promise<readonly string[]>;
  /** Writes to standard output, as it is. */
  out(text: string): void;
  /** Writes one line to standard error. */
  err(line: string): void;
}

/** What a command has to say, for scripts and for people. */
export interface CommandAnswer {
  readonly json: JsonObject;
  readonly text: string;
}

/** One command of the command line. */
export interface Command {
  /** As it is written: `account create`. */
  readonly name: string;
  /** What follows the name. */
  readonly synopsis: string;
  readonly summary: string;
  readonly options: ParseArgsOptionsConfig;
  /** Whether one value may stand without an option's name before it. */
  readonly takesValue?: boolean;
  run(given: GivenOptions, deps: CommandDeps): Promise<CommandAnswer>;
}

/** The command line does not say what is needed; the message says what to write. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "UsageError";
  }
}

/** The options of one call, read by name. */
export interface GivenOptions {
  flag(name: string): boolean;
  /** The value of the first of these options that is given, or the value that stands alone. */
  text(...names: readonly string[]): string | undefined;
  /** Like `text`, and a usage error without it. */
  required(...names: readonly string[]): string;
  /** A whole number from 1 to `max`; a usage error for anything else. */
  count(name: string, max: number): number | undefined;
}

/** Runs a command's work on the services and closes them, whatever comes. */
export async function withServices<Result>(
  deps: CommandDeps,
  work: (services: CommandServices) => Promise<Result>,
): Promise<Result> {
  const services = await deps.openServices();
  try {
    return await work(services);
  } finally {
    await services.close();
  }
}
