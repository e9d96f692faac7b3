import type { ParseArgsOptionsConfig } from "node:util";
import type { Accounts } from "../../identity/accounts/accounts.ts";
import type { OAuthClients } from "../../identity/clients/clients.ts";
import type { KeyRotation } from "../../identity/keys/key-rotation.ts";
import type { MemberStore } from "../../identity/organizations/organization.ts";
import type { PersonalAccessTokens } from "../../identity/tokens/personal-access-tokens.ts";
import type { RewrapSecrets } from "../../identity/keys/rewrap-secrets.ts";
import type { JsonObject } from "../../json.ts";

/** Services the commands use. They access the installation's database, also while a server is running. */
export interface CommandServices {
  readonly accounts: Accounts;
  readonly clients: OAuthClients;
  readonly memberStore: Pick<MemberStore, "findMember" | "addMember">;
  readonly personalAccessTokens: PersonalAccessTokens;
  readonly keyRotation: KeyRotation;
  readonly rewrapSecrets: RewrapSecrets;
  close(): Promise<void>;
}

/** The environment of a command. */
export interface CommandDeps {
  /** Opens the migrated database; only commands that need it call this. */
  openServices(): Promise<CommandServices>;
  /** Runs the pending migrations and returns their names. */
  migrate(): Promise<readonly string[]>;
  /** Writes text to standard output unchanged. */
  out(text: string): void;
  /** Writes one line to standard error. */
  err(line: string): void;
}

/** The output of a command, for scripts and for people. */
export interface CommandAnswer {
  readonly json: JsonObject;
  readonly text: string;
}

/** A command of the command line. */
export interface Command {
  /** For example `account create`. */
  readonly name: string;
  /** The arguments after the name, for the help text. */
  readonly synopsis: string;
  readonly summary: string;
  readonly options: ParseArgsOptionsConfig;
  /** Whether one value may be given without an option name. */
  readonly takesValue?: boolean;
  run(given: GivenOptions, deps: CommandDeps): Promise<CommandAnswer>;
}

/** The command line is incomplete or wrong; the message states the correct usage. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "UsageError";
  }
}

/** The parsed options of a command, read by name. */
export interface GivenOptions {
  flag(name: string): boolean;
  /** Returns the value of the first option that is given, or the positional value. */
  text(...names: readonly string[]): string | undefined;
  /** Like `text`, but throws a usage error if the value is missing. */
  required(...names: readonly string[]): string;
  /** Returns an integer from 1 to `max`; throws a usage error for other values. */
  count(name: string, max: number): number | undefined;
}

/** Runs a command with the services and closes them afterwards, also after an error. */
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
