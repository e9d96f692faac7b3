import { type RawBuilder, sql } from "kysely";

/**
 * The issue instant of a new token, in microseconds. The query selects it in one snapshot with the scopes and with the
 * revocations of the account and of `subjects`, which are pairs of kind and subject. If the snapshot contains a
 * revocation, it contains the scopes that were written with it, and the token is issued one microsecond after the
 * revocation's bound. Otherwise the token gets the current time, which is before the bound.
 */
export function momentAfterRevocations(accountId: RawBuilder<unknown>, ...subjects: RawBuilder<unknown>[]) {
  return sql<number>`greatest(
    (extract(epoch from clock_timestamp()) * 1000000)::bigint,
    (select (extract(epoch from max(issued_before)) * 1000000)::bigint + 1 from revocation
      where revocation.account_id = ${accountId}
        and (kind, subject) in (('account', ${accountId}), ${sql.join(subjects)})))`;
}
