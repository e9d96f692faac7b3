import type pg from "pg";
import type { ExternalIdentityStore } from "../../../identity/login/external-identity.ts";
import { SERVICE } from "../../../identity/actor.ts";
import { errorCode } from "../../storage-error.ts";
import { actorParameter, auditing } from "./audit-event.ts";
import { runStatement } from "../run-statement.ts";

// Both or neither: an account that nobody can log in to would keep its address from its owner.
const INSERT_ACCOUNT = `
  with added as (
    insert into account (id, email, password_hash, is_admin)
    select $1, $2, '', false where not exists (select from external_identity where issuer = $3 and subject = $4)
    on conflict ((lower(email))) do nothing returning id, email),
  changed as (select id, email from added),
  ${auditing({ action: "account.create", objectType: "account", accountId: "changed.id", objectName: "changed.email" }, 5)}
  insert into external_identity (account_id, issuer, subject) select id, $3, $4 from added`;

const LINK = `
  insert into external_identity (account_id, issuer, subject) values ($1, $2, $3)
  on conflict (issuer, subject) do update set linked_at = external_identity.linked_at
    where external_identity.account_id = $1`;

/** PostgreSQL's state for a row that there is already. */
const UNIQUE_VIOLATION = "23505";

/** External identities in PostgreSQL. */
export function createExternalIdentityStore(pool: pg.Pool): ExternalIdentityStore {
  return {
    async findAccount({ issuer, subject }) {
      const text = "select account_id from external_identity where issuer = $1 and subject = $2";
      const statement = { name: "external_identity_account", text, values: [issuer, subject] };
      const row = (await runStatement<{ account_id: string }>(pool, statement)).rows[0];
      return row && { accountId: row.account_id };
    },
    async insertAccount({ id, email }, { issuer, subject }) {
      const values = [id, email, issuer, subject, actorParameter(SERVICE)];
      const statement = { name: "external_identity_insert_account", text: INSERT_ACCOUNT, values };
      try {
        return (await runStatement(pool, statement)).rowCount === 1;
      } catch (error) {
        // The same person, a moment ago in another window.
        if (errorCode(error) === UNIQUE_VIOLATION) return false;
        throw error;
      }
    },
    async link(accountId, { issuer, subject }) {
      const statement = { name: "external_identity_link", text: LINK, values: [accountId, issuer, subject] };
      return (await runStatement(pool, statement)).rowCount === 1;
    },
    async isLinked(accountId, issuer) {
      const text = "select from external_identity where account_id = $1 and issuer = $2 limit 1";
      const statement = { name: "external_identity_linked", text, values: [accountId, issuer] };
      return (await runStatement(pool, statement)).rowCount === 1;
    },
  };
}
