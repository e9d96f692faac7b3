import { sql } from "kysely";
import type pg from "pg";
import type { Revocation, RevocationKind } from "../../../identity/revocations/revocation.ts";
import { REVOCATION_CHANNEL, type RevocationStore } from "../../../identity/revocations/revocations.ts";
import type { StatementRunner } from "../../pool/reads.ts";
import { prepare } from "../../statements/prepare.ts";

/** The subject of a revocation. */
export interface RevocationRequest {
  readonly accountId: string;
  readonly kind: RevocationKind;
  /** The `jti`, client id, connection id in decimal, account id, or grant id. */
  readonly subject: string;
  /**
   * Undefined rejects all tokens of the subject permanently. A time rejects tokens issued up to the commit of this
   * transaction, and accepts tokens issued with the data that it writes. A past time counts as now.
   */
  readonly issuedBefore?: Date | undefined;
  /** Tokens of the subject may outlive an access token's hour: keep the row permanently. */
  readonly isKeptForEver?: boolean;
}

/**
 * An access token's lifetime plus a margin for clock skew and late commits. After that a row can no longer reject a
 * token.
 */
const ROW_LIFETIME = "1 hour 10 minutes";

/**
 * Maximum time for the rest of the revoking transaction. A token that is issued meanwhile without seeing the
 * transaction's changes is issued before the bound; one that sees them is issued after it (`findForToken` in
 * `client.ts`).
 */
const COMMIT_ALLOWANCE = "10 seconds";

/**
 * The revoking transaction is aborted after this much idle time or this long a lock wait, so that it cannot exceed
 * `COMMIT_ALLOWANCE`.
 */
const PATIENCE = "4s";

const endOfRow = sql<Date>`clock_timestamp() + ${sql.lit(ROW_LIFETIME)}::interval`;

function iso(column: string) {
  return sql`to_char(${sql.ref(column)} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
}

/** Announces, on commit, the row that a statement writes. */
function announced({ isNarrowing }: { readonly isNarrowing: boolean }) {
  return sql<null>`pg_notify(${sql.lit(REVOCATION_CHANNEL)}, json_strip_nulls(json_build_object(
    'accountId', account_id, 'kind', kind, 'subject', subject, 'isNarrowing', ${sql.lit(isNarrowing)},
    'issuedBefore', ${iso("issued_before")}, 'revokedAt', ${iso("revoked_at")},
    'expiresAt', coalesce(${iso("expires_at")}, 'infinity')))::text)`.as("announced");
}

function patience(setting: "lock_timeout" | "idle_in_transaction_session_timeout") {
  return sql<string>`set_config(${sql.lit(setting)}, ${sql.lit(PATIENCE)}, true)`.as(setting);
}

/**
 * Adds a revocation and announces it, within the caller's transaction. Call it after the change that requires the
 * revocation. A later revocation never narrows a broader one.
 */
export async function revoke(client: StatementRunner, request: RevocationRequest): Promise<void> {
  await addRevocation(client, { issuedBefore: undefined, isKeptForEver: false, ...request });
}

const addRevocation = prepare("revocation_add", (tables, given: Required<RevocationRequest>) =>
  tables
    .insertInto("revocation")
    .values({
      account_id: given.accountId,
      kind: given.kind,
      subject: given.subject,
      issued_before: sql`case when ${given.issuedBefore}::timestamptz is null then null
        else greatest(${given.issuedBefore}, clock_timestamp() + ${sql.lit(COMMIT_ALLOWANCE)}::interval) end`,
      expires_at: sql`case when ${given.isKeptForEver} then null else ${endOfRow} end`,
    })
    .onConflict((conflict) =>
      conflict.columns(["account_id", "kind", "subject"]).doUpdateSet({
        issued_before: broader("issued_before"),
        expires_at: broader("expires_at"),
        revoked_at: sql`now()`,
      }),
    )
    .returning([
      announced({ isNarrowing: false }),
      patience("lock_timeout"),
      patience("idle_in_transaction_session_timeout"),
    ]),
);

/** The later of the stored and the new expiry; null means permanent. */
function broader(column: "issued_before" | "expires_at") {
  const [known, added] = [sql.ref(`revocation.${column}`), sql.ref(`excluded.${column}`)];
  return sql<Date | null>`case when ${known} is null or ${added} is null then null else greatest(${known}, ${added}) end`;
}

/**
 * Accepts tokens of a re-enabled account, within the caller's transaction: all active personal access tokens, and
 * access tokens issued from now on.
 */
export async function restoreTokens(client: StatementRunner, accountId: string): Promise<void> {
  await narrowRevocation(client, { accountId });
}

const narrowRevocation = prepare("revocation_restore_tokens", (tables, given: { readonly accountId: string }) =>
  tables
    .updateTable("revocation")
    .set({ issued_before: sql`clock_timestamp()`, revoked_at: sql`clock_timestamp()`, expires_at: endOfRow })
    .where(({ and }) =>
      and({ account_id: given.accountId, kind: sql.lit<"account">("account"), subject: given.accountId }),
    )
    .returning(announced({ isNarrowing: true })),
);

function micros(column: "issued_before" | "revoked_at" | "expires_at") {
  return sql<number | null>`(extract(epoch from ${sql.ref(column)}) * 1000000)::bigint`.as(column);
}

const COLUMNS = ["kind", "subject", micros("issued_before"), micros("revoked_at"), micros("expires_at")] as const;

const listRevocations = prepare("revocation_in_force", (tables) =>
  tables
    .selectFrom("revocation")
    .select(COLUMNS)
    .where(({ eb, or }) => or([eb("expires_at", "is", null), eb("expires_at", ">", sql<Date>`now()`)])),
);

const listRevocationsFor = prepare(
  "revocation_for_principal",
  (tables, given: Record<"accountId" | "personId" | "tokenId" | "clientId" | "connectionId" | "grantId", string>) =>
    tables
      .selectFrom("revocation")
      .select(COLUMNS)
      .where("account_id", "in", [given.accountId, given.personId])
      .where(
        sql<boolean>`(kind, subject) in (('token', ${given.tokenId}), ('client', ${given.clientId}),
          ('connection', ${given.connectionId}), ('account', ${given.accountId}), ('account', ${given.personId}), ('grant', ${given.grantId}))`,
      ),
);

type RevocationRow = Awaited<ReturnType<typeof listRevocations>>["rows"][number];

function toRevocation({ kind, subject, issued_before, revoked_at, expires_at }: RevocationRow): Revocation {
  const before = issued_before ?? undefined;
  return { kind, subject, before, revokedAt: revoked_at ?? undefined, expiresAt: expires_at ?? Infinity };
}

/** Revocations in PostgreSQL. */
export function createRevocationStore(pool: pg.Pool): RevocationStore {
  return {
    listInForce: async () => (await listRevocations(pool, {})).rows.map(toRevocation),
    async listFor({ accountId, memberId, tokenId, clientId, connectionId, grantId }) {
      const given = {
        accountId,
        personId: memberId ?? accountId,
        tokenId,
        clientId,
        connectionId: String(connectionId ?? ""),
        grantId: grantId ?? "",
      };
      return (await listRevocationsFor(pool, given)).rows.map(toRevocation);
    },
  };
}
