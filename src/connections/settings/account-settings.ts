import { type Actor, type Caller, toActor } from "../../identity/actor.ts";
import { type Principal, reachesAll } from "../../identity/principal.ts";
import { DomainError } from "../../domain-error.ts";

/** Settings of an account for all its connections. */
export interface AccountSettings {
  /** Whether agents with very many tools get two tools instead, which search and call the others. */
  readonly toolSearch: boolean;
}

export const DEFAULT_SETTINGS: AccountSettings = { toolSearch: false };

/** Undefined fields keep their values. */
export type SettingsChange = { readonly [Name in keyof AccountSettings]: AccountSettings[Name] | undefined };

/** Throws DomainError `unavailable` if the database cannot be reached. */
export interface AccountSettingsStore {
  /** Returns the defaults for an account without settings. */
  find(accountId: string): Promise<AccountSettings>;
  /** Saves the change, notifies every replica and returns the new settings. */
  save(accountId: string, change: SettingsChange, actor: Actor): Promise<AccountSettings>;
}

/** Use cases for the settings of the caller's account. Throws `forbidden` for a token limited to some connections. */
export interface SettingsOfAccount {
  get(principal: Principal): Promise<AccountSettings>;
  update(caller: Caller, change: SettingsChange): Promise<AccountSettings>;
}

/** `onChange` is called after every change, before the response. */
export function createSettingsOfAccount(deps: {
  readonly store: AccountSettingsStore;
  readonly onChange: (accountId: string) => void;
}): SettingsOfAccount {
  return {
    async get(principal) {
      refusePartial(principal, "You do not have permission to view account settings.");
      return deps.store.find(principal.accountId);
    },
    async update(principal, change) {
      refusePartial(principal, "You do not have permission to update account settings.");
      const saved = await deps.store.save(principal.accountId, change, toActor(principal));
      deps.onChange(principal.accountId);
      return saved;
    },
  };
}

function refusePartial(principal: Principal, sentence: string): void {
  if (!reachesAll(principal)) throw new DomainError("forbidden", sentence);
}
