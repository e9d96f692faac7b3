import { checkPage, DEFAULT_PAGE, type PageQuery } from "../../page.ts";
import { DomainError, invalid } from "../../domain-error.ts";
import { EMAIL } from "./accounts.ts";
import { type Actor, type Caller, toActor } from "../actor.ts";
import { hashPassword } from "./password.ts";
import { randomId, randomPassword } from "../random.ts";

/** An account as an administrator sees it: that it is there, and never what is in it. */
export interface AdministeredAccount {
  readonly id: string;
  readonly email: string;
  readonly isAdmin: boolean;
  readonly connectionCount: number;
  readonly createdAt: Date;
  /** Undefined while the account is in use. */
  readonly disabledAt: Date | undefined;
}

/** Which accounts to list. */
export interface AccountSelection {
  /** Part of the e-mail address, in any case, or a whole id. */
  readonly query: string | undefined;
  readonly isDisabled: boolean | undefined;
}

/** How a purge ended: `active` accounts are not purged, and with much history a purge takes several goes. */
export type PurgeOutcome = "purged" | "active" | "missing" | "unfinished";

/** Accounts at rest, for administrators. What changes one writes down who did it. */
export interface AdministrationStore {
  list(
    selection: AccountSelection,
    limit: number,
    offset: number,
  ): Promise<{ readonly accounts: readonly AdministeredAccount[]; readonly totalCount: number }>;
  find(id: string): Promise<AdministeredAccount | undefined>;
  /** False when the e-mail address is taken, in whatever case it is written. */
  insert(
    account: { id: string; email: string; passwordHash: string; isAdmin: boolean },
    actor: Actor,
  ): Promise<boolean>;
  /** Marks the account and revokes all its tokens, in one transaction. False when there is no such account. */
  disable(id: string, actor: Actor): Promise<boolean>;
  /** Honours the account's tokens again, those for access from before excepted. False when there is no such account. */
  enable(id: string, actor: Actor): Promise<boolean>;
  /** Ends logins, MCP sessions, access tokens and refresh tokens. False when there is no such account. */
  endSessions(id: string, actor: Actor): Promise<boolean>;
  /** Deletes a disabled account for good, with its audit log. */
  purge(id: string, actor: Actor): Promise<PurgeOutcome>;
}

/** What administrators can do with accounts. Throws `not_found` for an account that there is not. */
export interface Administration {
  list(query: PageQuery & { readonly query?: string | undefined; readonly status?: string | undefined }): Promise<{
    readonly accounts: readonly AdministeredAccount[];
    readonly totalCount: number;
    readonly hasMore: boolean;
  }>;
  get(id: string): Promise<AdministeredAccount>;
  /** The password is in no other place. Throws `invalid` for what is no e-mail address, `conflict` when it is taken. */
  create(
    caller: Caller,
    request: { readonly email: string; readonly isAdmin: boolean },
  ): Promise<{ readonly account: AdministeredAccount; readonly password: string }>;
  disable(caller: Caller, id: string): Promise<AdministeredAccount>;
  enable(caller: Caller, id: string): Promise<AdministeredAccount>;
  endSessions(caller: Caller, id: string): Promise<void>;
  purge(caller: Caller, id: string): Promise<void>;
}

/** Makes the use cases of administration. `onEnd` is called when an account's tokens are refused from now on. */
export function createAdministration(deps: {
  readonly store: AdministrationStore;
  readonly onRevoked: (accountId: string) => void;
}): Administration {
  const { store } = deps;

  async function get(id: string): Promise<AdministeredAccount> {
    // PostgreSQL holds no NUL, and no id of ours is long.
    const account = /^[A-Za-z0-9_-]{1,128}$/.test(id) ? await store.find(id) : undefined;
    if (account === undefined) throw accountNotFound(id);
    return account;
  }

  function rejectOwnAccount(caller: Caller, id: string): void {
    // Who locks themselves out may be the last who could let them in again.
    if (caller.accountId === id) throw new DomainError("conflict", "You cannot do this to your own account.");
  }

  return {
    async list(query) {
      checkPage(query);
      const { limit = DEFAULT_PAGE, offset = 0 } = query;
      const selection = { query: query.query, isDisabled: parseStatus(query.status) };
      const { accounts, totalCount } = await store.list(selection, limit, offset);
      return { accounts, totalCount, hasMore: offset + accounts.length < totalCount };
    },

    get,

    async create(caller, { email, isAdmin }) {
      if (!EMAIL.test(email)) throw invalid("email", `${JSON.stringify(email.slice(0, 64))} is not an e-mail address.`);
      const id = randomId("acc_");
      const password = randomPassword();
      const fresh = { id, email, passwordHash: await hashPassword(password), isAdmin };
      if (!(await store.insert(fresh, toActor(caller))))
        throw new DomainError("conflict", `There already is an account with the address ${email}.`);
      return { account: await get(id), password };
    },

    async disable(caller, id) {
      rejectOwnAccount(caller, id);
      await get(id);
      await store.disable(id, toActor(caller));
      deps.onRevoked(id);
      return get(id);
    },

    async enable(caller, id) {
      await get(id);
      await store.enable(id, toActor(caller));
      return get(id);
    },

    async endSessions(caller, id) {
      await get(id);
      await store.endSessions(id, toActor(caller));
    },

    async purge(caller, id) {
      await get(id);
      const outcome = await store.purge(id, toActor(caller));
      if (outcome === "missing") throw accountNotFound(id);
      if (outcome === "active")
        throw new DomainError("conflict", "Disable the account first: a purge cannot be taken back.");
      if (outcome === "unfinished") {
        const rule = "The account has much history, which is being purged; ask again to go on.";
        throw new DomainError("unavailable", rule, { retryAfterSeconds: 1 });
      }
    },
  };
}

function parseStatus(text: string | undefined): boolean | undefined {
  if (text === undefined) return undefined;
  if (text === "active" || text === "disabled") return text === "disabled";
  throw invalid("status", "status must be active or disabled.");
}

/** Echoes at most 64 printable characters of what was asked for. */
function accountNotFound(id: string): DomainError {
  return new DomainError("not_found", `Account ${id.slice(0, 64).replace(/[^\x20-\x7e]/g, "?")} not found`);
}
