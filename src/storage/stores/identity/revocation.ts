import type pg from "pg";
import type { Principal } from "../../../identity/principal.ts";
import type { Revocation, RevocationKind } from "../../../identity/revocations/revocation.ts";
import { REVOCATION_CHANNEL, type RevocationStore } from "../../../identity/revocations/revocations.ts";
import type { StatementRunner } from "../../reads.ts";
import { runStatement } from "../run-statement.ts";

/** What to revoke. */
export interface RevocationRequest {
  readonly accountId: string;
  readonly kind: RevocationKind;
  /** The `jti`, client id, connection id in decimal, account id, or grant id. */
  readonly subject: string;
  /**
   * Undefined refuses all tokens of the subject, for good. A moment refuses those issued up to the commit of this
   * transaction, and honours those issued with what the transaction wrote. A date in the past counts as now.
   */
  readonly issuedBefore?: Date | undefined;
  /** Tokens of the subject may outlive an access token's hour: keep the row for ever. */
  readonly isKeptForEver?: boolean;
}

/** An access token's lifetime and a margin for clocks and late commits, after which a row has nothing left to refuse. */
const ROW_LIFETIME = "1 hour 10 minutes";

/**
 * How long the rest of the revoking transaction may take. Tokens issued meanwhile, by someone who cannot yet see what it
 * writes, fall before the bound; who can see it issues tokens with a moment after the bound (`findForToken` in `client.ts`).
 */
const COMMIT_ALLOWANCE = "10 seconds";

/** After this much idling, or waiting for one lock, the revoking transaction is given up, so that it cannot outlast the allowance. */
const PATIENCE = "4s";

const ISO_MICROS = `'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'`;

/** The moments of a row in its notification. */
const MOMENTS = `'issuedBefore', to_char(issued_before at time zone 'utc', ${ISO_MICROS}),
        'revokedAt', to_char(revoked_at at time zone 'utc', ${ISO_MICROS}),
        'expiresAt', coalesce(to_char(expires_at at time zone 'utc', ${ISO_MICROS}), 'infinity')`;

/**
 * Adds a revocation and announces it, within the caller's transaction. Call it after the change that makes it necessary.
 * A broader revocation is never narrowed by a later one.
 */
export async function revoke(client: StatementRunner, request: RevocationRequest): Promise<void> {
  await client.query({
    name: "revocation_add",
    text: `with added as (
        insert into revocation as known (account_id, kind, subject, issued_before, expires_at)
        values ($1, $2, $3,
          case when $4::timestamptz is null then null else greatest($4, clock_timestamp() + $6::interval) end,
          case when $5 then null else clock_timestamp() + $7::interval end)
        on conflict (account_id, kind, subject) do update set
          issued_before = case when known.issued_before is null or excluded.issued_before is null then null
            else greatest(known.issued_before, excluded.issued_before) end,
          expires_at = case when known.expires_at is null or excluded.expires_at is null then null
            else greatest(known.expires_at, excluded.expires_at) end,
          revoked_at = now()
        returning account_id, kind, subject, issued_before, revoked_at, expires_at)
      select pg_notify($8, json_strip_nulls(json_build_object(
        'accountId', account_id, 'kind', kind, 'subject', subject, ${MOMENTS}))::text),
        set_config('idle_in_transaction_session_timeout', '${PATIENCE}', true), set_config('lock_timeout', '${PATIENCE}', true)
      from added`,
    values: [
      request.accountId,
      request.kind,
      request.subject,
      request.issuedBefore ?? null,
      request.isKeptForEver ?? false,
      COMMIT_ALLOWANCE,
      ROW_LIFETIME,
      REVOCATION_CHANNEL,
    ],
  });
}

/**
 * Honours the tokens of an account again that was disabled, within the caller's transaction: of personal access tokens all
 * that are in use, of access tokens those issued from now on.
 */
export async function honourAgain(client: StatementRunner, accountId: string): Promise<void> {
  await client.query({
    name: "revocation_honour_again",
    text: `with changed as (
        update revocation set issued_before = clock_timestamp(), revoked_at = clock_timestamp(), expires_at = clock_timestamp() + $2::interval
        where account_id = $1 and kind = 'account' and subject = $1
        returning account_id, kind, subject, issued_before, revoked_at, expires_at)
      select pg_notify($3, json_build_object(
        'accountId', account_id, 'kind', kind, 'subject', subject, 'isNarrowing', true, ${MOMENTS})::text)
      from changed`,
    values: [accountId, ROW_LIFETIME, REVOCATION_CHANNEL],
  });
}

interface RevocationRow {
  kind: RevocationKind;
  subject: string;
  before_micros: number | null;
  revoked_micros: number;
  expires_micros: number | null;
}

const COLUMNS = `kind, subject, (extract(epoch from issued_before) * 1000000)::bigint as before_micros,
  (extract(epoch from revoked_at) * 1000000)::bigint as revoked_micros,
  (extract(epoch from expires_at) * 1000000)::bigint as expires_micros`;

function toRevocation(row: RevocationRow): Revocation {
  return {
    kind: row.kind,
    subject: row.subject,
    before: row.before_micros ?? undefined,
    revokedAt: row.revoked_micros,
    expiresAt: row.expires_micros ?? Infinity,
  };
}

/** Revocations in PostgreSQL. */
export function createRevocationStore(pool: pg.Pool): RevocationStore {
  return {
    async listInForce() {
      const text = `select ${COLUMNS} from revocation where expires_at is null or expires_at > now()`;
      const { rows } = await runStatement<RevocationRow>(pool, { name: "revocation_in_force", text, values: [] });
      return rows.map(toRevocation);
    },
    async listFor(principal: Principal) {
      const text = `select ${COLUMNS} from revocation where account_id = $1 and (kind, subject) in
        (('token', $2), ('client', $3), ('connection', $4), ('account', $1), ('grant', $5))`;
      const { accountId, tokenId, clientId, connectionId, grantId } = principal;
      const values = [
        accountId,
        tokenId,
        clientId,
        connectionId === undefined ? "" : String(connectionId),
        grantId ?? "",
      ];
      const { rows } = await runStatement<RevocationRow>(pool, { name: "revocation_for_principal", text, values });
      return rows.map(toRevocation);
    },
  };
}
