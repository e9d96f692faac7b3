import { type Actor, type Caller, toActor } from "../../identity/actor.ts";
import { type Principal, reachesAll } from "../../identity/principal.ts";
import { DomainError } from "../../domain-error.ts";

/** What an account's owner decides once for all connections. */
export interface AccountSettings {
  /** Whether agents that would see very many tools are given two that find and call them instead. */
  readonly toolSearch: boolean;
}

/** How it is until the owner decides otherwise. */
export const DEFAULT_SETTINGS: AccountSettings = { toolSearch: false };

/** A change of settings; what is undefined stays. */
export type SettingsChange = { readonly [Name in keyof AccountSettings]: AccountSettings[Name] | undefined };

/** Settings at rest. Throws DomainError `unavailable` when the database cannot be reached. */
export interface AccountSettingsStore {
  /** The account's settings, or the defaults. */
  find(accountId: string): Promise<AccountSettings>;
  /** Changes what is given and tells every replica; answers the settings as they are then. */
  save(accountId: string, change: SettingsChange, actor: Actor): Promise<AccountSettings>;
}

/** What a principal can do with the settings of its own account. Throws `forbidden` for a token that sees less than all of it. */
export interface SettingsOfAccount {
  get(principal: Principal): Promise<AccountSettings>;
  update(caller: Caller, change: SettingsChange): Promise<AccountSettings>;
}

/** Makes the use cases of settings. `onChange` is called after every change, before it is answered. */
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
