import { DomainError } from "../../domain-error.ts";
import type { AccountStore } from "../account.ts";
import type { Accounts } from "./accounts.ts";
import type { OAuthClients } from "../clients/clients.ts";

export interface FirstAccount {
  readonly email: string;
  readonly password: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

const FIRST_EMAIL = "admin@localhost";

/**
 * Creates an administrator and a client if there is no account yet. Returns undefined if there is one, or if another
 * replica that starts at the same time creates it.
 */
export async function ensureFirstAccount(deps: {
  readonly accountStore: Pick<AccountStore, "isEmpty">;
  readonly accounts: Accounts;
  readonly clients: OAuthClients;
}): Promise<FirstAccount | undefined> {
  if (!(await deps.accountStore.isEmpty())) return undefined;
  try {
    const { accountId, email, password } = await deps.accounts.create({ email: FIRST_EMAIL, isAdmin: true });
    const account = await deps.accounts.find(accountId);
    const { clientId, clientSecret } = await deps.clients.create(account, "mgmt.read mgmt.write mcp.read mcp.write");
    return { email, password, clientId, clientSecret };
  } catch (error) {
    if (error instanceof DomainError && error.kind === "conflict") return undefined;
    throw error;
  }
}
