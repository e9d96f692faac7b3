import { sql } from "kysely";
import type pg from "pg";
import type { Revocation, RevocationKind } from "../../../identity/revocations/revocation.ts";
import { REVOCATION_CHANNEL, type RevocationStore } from "../../../identity/revocations/revocations.ts";
import type { StatementRunner } from "../../reads.ts";
import { prepare } from "../../statements/prepare.ts";

/** What to revoke. */
export interface RevocationRequest {
  readonly accountId: string;
  readonly kind: RevocationKind;
  /** The `jti`, client id, connection id in decimal, account id, or grant id. */
  readonly subject: string;
  /**
   * Undefined refuses all tokens of the subject, for good. A moment refuses those issued up to the commit of this
   * transaction, and accepts those issued with what the transaction wrote. A date in the past counts as now.
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

const endOfRow = sql<Date>`clock_timestamp() + ${sql.lit(ROW_LIFETIME)}::interval`;

function iso(column: string) {
  return sql`to_char(${sql.ref(column)} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
}

/** Announces the row that a statement writes, when its transaction commits. */
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
 * Adds a revocation and announces it, within the caller's transaction. Call it after the change that makes it necessary.
 * A broader revocation is never narrowed by a later one.
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

/** The later of the known and the added moment, where none means for ever. */
function broader(column: "issued_before" | "expires_at") {
  const [known, added] = [sql.ref(`revocation.${column}`), sql.ref(`excluded.${column}`)];
  return sql<Date | null>`case when ${known} is null or ${added} is null then null else greatest(${known}, ${added}) end`;
}

/**
 * Accepts the tokens of an account again that was disabled, within the caller's transaction: of personal access tokens all
 * that are in use, of access tokens those issued from now on.
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
  (tables, given: Record<"accountId" | "tokenId" | "clientId" | "connectionId" | "grantId", string>) =>
    tables
      .selectFrom("revocation")
      .select(COLUMNS)
      .where("account_id", "=", given.accountId)
      .where(
        sql<boolean>`(kind, subject) in (('token', ${given.tokenId}), ('client', ${given.clientId}),
          ('connection', ${given.connectionId}), ('account', ${given.accountId}), ('grant', ${given.grantId}))`,
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
    async listFor({ accountId, tokenId, clientId, connectionId, grantId }) {
      const given = { accountId, tokenId, clientId, connectionId: String(connectionId ?? ""), grantId: grantId ?? "" };
      return (await listRevocationsFor(pool, given)).rows.map(toRevocation);
    },
  };
}
