import type { SigningKeySummary } from "../../auth/key-rotation.ts";
import { KEY_PURPOSES, type KeyPurpose } from "../../auth/signing-keys.ts";
import type { JsonObject } from "../../json.ts";
import { type Command, type GivenOptions, UsageError, withServices } from "./command.ts";

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

function answerOf(keys: readonly SigningKeySummary[]): { json: JsonObject; text: string } {
  return { json: { keys: keys.map(toJson) }, text: keys.map(toLine).join("\n") };
}

function purposeOf(given: GivenOptions): KeyPurpose {
  const word = given.text("purpose") ?? "access_token";
  const purpose = KEY_PURPOSES.find((one) => one === word);
  if (purpose !== undefined) return purpose;
  throw new UsageError(`--purpose is one of: ${KEY_PURPOSES.join(", ")}.`);
}

/** The commands about keys. */
export const keyCommands: readonly Command[] = [
  {
    name: "keys list",
    synopsis: "",
    summary: "lists the keys that sign tokens",
    options: {},
    run: (_given, deps) => withServices(deps, async ({ keyRotation }) => answerOf(await keyRotation.list())),
  },
  {
    name: "keys rotate",
    synopsis: `[--purpose ${KEY_PURPOSES.join("|")}] [--force]`,
    summary:
      "signs access tokens with the next key from now on; with --force even if it was published only a moment ago",
    options: { purpose: { type: "string" }, force: { type: "boolean" } },
    run: (given, deps) => {
      const request = { purpose: purposeOf(given), isForced: given.flag("force") };
      return withServices(deps, async ({ keyRotation }) => answerOf(await keyRotation.rotate(request)));
    },
  },
];
