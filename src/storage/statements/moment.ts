import { type RawBuilder, sql } from "kysely";

/**
 * The moment, in microseconds, at which a token issued now counts as issued. The statement that selects it is one snapshot of
 * the scopes and of the revocations of the account and of `subjects`, which are pairs of kind and subject. Whoever sees a
 * revocation here sees the scopes written with it, so the token counts as issued one microsecond after its bound; whoever
 * does not see it yet gets the clock's moment, which is before the bound.
 */
export function momentAfterRevocations(accountId: RawBuilder<unknown>, ...subjects: RawBuilder<unknown>[]) {
  return sql<number>`greatest(
    (extract(epoch from clock_timestamp()) * 1000000)::bigint,
    (select (extract(epoch from max(issued_before)) * 1000000)::bigint + 1 from revocation
      where revocation.account_id = ${accountId}
        and (kind, subject) in (('account', ${accountId}), ${sql.join(subjects)})))`;
}
