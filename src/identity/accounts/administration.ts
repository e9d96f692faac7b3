import { checkPage, DEFAULT_PAGE, type PageQuery } from "../../page.ts";
import { DomainError, invalid } from "../../domain-error.ts";
import { EMAIL } from "./accounts.ts";
import { type Actor, type Caller, toActor } from "../actor.ts";
import { hashPassword } from "./password.ts";
import { randomId, randomPassword } from "../random.ts";

/** An account as an administrator sees it, without its content. */
export interface AdministeredAccount {
  readonly id: string;
  /** Empty for an organization. */
  readonly email: string;
  /** The name of an organization; undefined for a person. */
  readonly name: string | undefined;
  readonly isAdmin: boolean;
  readonly connectionCount: number;
  readonly createdAt: Date;
  /** Undefined for an active account. */
  readonly disabledAt: Date | undefined;
}

export interface AccountSelection {
  /** Part of the e-mail address or of an organization's name, ignoring case, or a whole id. */
  readonly query: string | undefined;
  readonly isDisabled: boolean | undefined;
}

/** `active` accounts cannot be purged; `unfinished` means that more history remains to be deleted by another call. */
export type PurgeOutcome = "purged" | "active" | "missing" | "unfinished";

/** Stores accounts for administrators. Every change writes its audit event in the same transaction. */
export interface AdministrationStore {
  list(
    selection: AccountSelection,
    limit: number,
    offset: number,
  ): Promise<{ readonly accounts: readonly AdministeredAccount[]; readonly totalCount: number }>;
  find(id: string): Promise<AdministeredAccount | undefined>;
  /** Returns false if the e-mail address is taken, ignoring case. */
  insert(
    account: { id: string; email: string; passwordHash: string; isAdmin: boolean },
    actor: Actor,
  ): Promise<boolean>;
  /** Disables the account and revokes all its tokens in one transaction. Returns false if there is no such account. */
  disable(id: string, actor: Actor): Promise<boolean>;
  /** Enables the account; access tokens issued before stay revoked. Returns false if there is no such account. */
  enable(id: string, actor: Actor): Promise<boolean>;
  /** Ends logins and MCP sessions, and revokes access and refresh tokens. Returns false if there is no such account. */
  endSessions(id: string, actor: Actor): Promise<boolean>;
  /** Deletes a disabled account permanently, with its audit log. */
  purge(id: string, actor: Actor): Promise<PurgeOutcome>;
}

/** Use cases of administrators. Throws `not_found` for an unknown account. */
export interface Administration {
  list(query: PageQuery & { readonly query?: string | undefined; readonly status?: string | undefined }): Promise<{
    readonly accounts: readonly AdministeredAccount[];
    readonly totalCount: number;
    readonly hasMore: boolean;
  }>;
  get(id: string): Promise<AdministeredAccount>;
  /**
   * Returns the password, which is stored as a hash only. Throws `invalid` for an invalid e-mail address and
   * `conflict` if it is taken.
   */
  create(
    caller: Caller,
    request: { readonly email: string; readonly isAdmin: boolean },
  ): Promise<{ readonly account: AdministeredAccount; readonly password: string }>;
  disable(caller: Caller, id: string): Promise<AdministeredAccount>;
  enable(caller: Caller, id: string): Promise<AdministeredAccount>;
  endSessions(caller: Caller, id: string): Promise<void>;
  purge(caller: Caller, id: string): Promise<void>;
}

/** `onRevoked` is called when all tokens of an account become invalid. */
export function createAdministration(deps: {
  readonly store: AdministrationStore;
  readonly onRevoked: (accountId: string) => void;
}): Administration {
  const { store } = deps;

  async function get(id: string): Promise<AdministeredAccount> {
    // PostgreSQL text cannot contain NUL, so invalid ids are rejected before the query.
    const account = /^[A-Za-z0-9_-]{1,128}$/.test(id) ? await store.find(id) : undefined;
    if (account === undefined) throw accountNotFound(id);
    return account;
  }

  function rejectOwnAccount(caller: Caller, id: string): void {
    // The last administrator must not lock themselves out.
    if (caller.accountId === id) throw new DomainError("conflict", "You cannot disable or purge your own account.");
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
        throw new DomainError("conflict", `An account with the address ${email} already exists.`);
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

/** Echoes at most 64 printable characters of the id. */
function accountNotFound(id: string): DomainError {
  return new DomainError("not_found", `Account ${id.slice(0, 64).replace(/[^\x20-\x7e]/g, "?")} not found`);
}
