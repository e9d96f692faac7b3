import { OPERATOR } from "../../identity/actor.ts";
import type { SigningKeySummary } from "../../identity/keys/key-rotation.ts";
import { KEY_PURPOSES, type KeyPurpose } from "../../identity/keys/signing-keys.ts";
import type { RewrapReport } from "../../identity/keys/rewrap-secrets.ts";
import { DomainError } from "../../domain-error.ts";
import type { JsonObject } from "../../json.ts";
import { type Command, type CommandAnswer, type GivenOptions, UsageError, withServices } from "./command.ts";

function toJson(key: SigningKeySummary): JsonObject {
  return {
    id: key.id,
    purpose: key.purpose,
    state: key.state,
    created_at: key.createdAt.toISOString(),
    ready_at: key.readyAt.toISOString(),
    current_since: key.currentSince?.toISOString() ?? null,
    retired_at: key.retiredAt?.toISOString() ?? null,
  };
}

function toLine({ id, purpose, state, readyAt, currentSince, retiredAt }: SigningKeySummary): string {
  const since = {
    next: `may sign from ${readyAt.toISOString()}`,
    current: `signs since ${currentSince?.toISOString() ?? "ever"}`,
    retired: `retired at ${retiredAt?.toISOString() ?? "some time"}`,
  };
  return `${id}  ${purpose}  ${state}, ${since[state]}`;
}

function answerOf(keys: readonly SigningKeySummary[]): CommandAnswer {
  return { json: { keys: keys.map(toJson) }, text: keys.map(toLine).join("\n") };
}

function toAnswer({ masterKeyVersion, rewrapped, failed, remaining }: RewrapReport): CommandAnswer {
  const total = Object.values(rewrapped).reduce((sum, count) => sum + count, 0);
  const moved = `${total} secrets were encrypted with master key version ${masterKeyVersion}`;
  if (Object.keys(failed).length > 0) {
    const where = Object.entries(failed).map(([column, count]) => `${count} in ${column}`);
    throw new DomainError("conflict", `${moved}; these cannot be decrypted and were not changed: ${where.join(", ")}.`);
  }
  if (remaining > 0) {
    const advice = "Put the newest key first on every replica, restart the replicas, then run this command again.";
    throw new DomainError(
      "conflict",
      `${moved}, but ${remaining} were encrypted with an older key meanwhile. ${advice}`,
    );
  }
  return {
    json: { master_key_version: masterKeyVersion, rewrapped: { ...rewrapped }, total },
    text: `${moved}. Older master keys can be removed.`,
  };
}

function purposeOf(given: GivenOptions): KeyPurpose {
  const word = given.text("purpose") ?? "access_token";
  const purpose = KEY_PURPOSES.find((one) => one === word);
  if (purpose !== undefined) return purpose;
  throw new UsageError(`--purpose is one of: ${KEY_PURPOSES.join(", ")}.`);
}

export const keyCommands: readonly Command[] = [
  {
    name: "keys list",
    synopsis: "",
    summary: "lists the signing keys",
    options: {},
    run: (_given, deps) => withServices(deps, async ({ keyRotation }) => answerOf(await keyRotation.list())),
  },
  {
    name: "keys rotate",
    synopsis: `[--purpose ${KEY_PURPOSES.join("|")}] [--force]`,
    summary: "makes the next key sign access tokens; with --force even if it was published less than 11 minutes ago",
    options: { purpose: { type: "string" }, force: { type: "boolean" } },
    run: (given, deps) => {
      const request = { purpose: purposeOf(given), isForced: given.flag("force") };
      return withServices(deps, async ({ keyRotation }) => answerOf(await keyRotation.rotate(request, OPERATOR)));
    },
  },
  {
    name: "keys rewrap",
    synopsis: "",
    summary: "encrypts every stored secret with the newest master key; afterwards the older keys can be removed",
    options: {},
    run: (_given, deps) => withServices(deps, async ({ rewrapSecrets }) => toAnswer(await rewrapSecrets())),
  },
];
