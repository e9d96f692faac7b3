import { sql } from "kysely";
import { prepare } from "./prepare.ts";

/** The expiry of a usable token. Returns no row if the token is unusable or its account is disabled. */
export const findTokenUse = prepare(
  "personal_access_token_use",
  (tables, given: { accountId: string; id: string; clientId: string }) =>
    tables
      .selectFrom("personal_access_token as token")
      .innerJoin("account", "account.id", "token.account_id")
      .select("token.expires_at as expiresAt")
      .where(({ and }) =>
        and({ "token.account_id": given.accountId, "token.id": given.id, "token.client_id": given.clientId }),
      )
      .where("token.revoked_at", "is", null)
      .where("account.disabled_at", "is", null)
      .where(({ eb, or }) => or([eb("token.expires_at", "is", null), eb("token.expires_at", ">", sql<Date>`now()`)])),
);

/** Records the use of tokens, at most every five minutes per token. */
export const touchTokens = prepare(
  "personal_access_token_touch",
  (tables, given: { accountIds: readonly string[]; ids: readonly string[] }) =>
    tables
      .updateTable("personal_access_token as token")
      .from(
        sql<{ account_id: string; id: string }>`unnest(${given.accountIds}::text[], ${given.ids}::text[])`.as<"used">(
          sql`used(account_id, id)`,
        ),
      )
      .set({ last_used_at: sql`now()` })
      .whereRef("token.account_id", "=", "used.account_id")
      .whereRef("token.id", "=", "used.id")
      .where(({ eb, or }) =>
        or([
          eb("token.last_used_at", "is", null),
          eb("token.last_used_at", "<", sql<Date>`now() - interval '5 minutes'`),
        ]),
      ),
);
