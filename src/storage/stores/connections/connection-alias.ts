import type { EntityManager } from "@mikro-orm/postgresql";
import { aliasWithId } from "../../../connections/alias.ts";
import type { Connection } from "../../../connections/connection.ts";
import { DomainError } from "../../../domain-error.ts";
import { tablesOf } from "../../orm.ts";
import { lockAccount } from "../identity/account-lock.ts";

type AliasOwner = Pick<Connection, "id" | "name" | "alias">;

/** The aliases of an account's connections. They are unique only while the transaction holds the account's lock. */
export async function aliasesOf(em: EntityManager, accountId: string): Promise<readonly AliasOwner[]> {
  const rows = await tablesOf(em)
    .selectFrom("connection")
    .select(["id", "name", "alias", "server_type as serverType"])
    .where("account_id", "=", accountId)
    .execute();
  return rows.map((row) => ({ id: row.id, name: row.name, alias: row.alias ?? aliasWithId(row, row.id) }));
}

/** Locks the account until the transaction ends. Throws `conflict` if another connection has the alias. */
export async function claimAlias(em: EntityManager, { accountId, id, alias }: Connection): Promise<void> {
  await lockAccount(em, accountId);
  const other = (await aliasesOf(em, accountId)).find((owner) => owner.alias === alias && owner.id !== id);
  if (other === undefined) return;
  throw new DomainError(
    "conflict",
    `alias "${alias}" is taken by the connection "${other.name}" (${other.id}). Choose another one.`,
  );
}
