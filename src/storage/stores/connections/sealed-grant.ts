import type { InferEntity } from "@mikro-orm/core";
import type { UpstreamGrant, StoredTokens } from "../../../integrations/oauth/grant.ts";
import type { ConnectionGrantEntity } from "../../entities/connections/connection-grant.ts";
import type { SealedPlace, Sealer } from "../../sealing.ts";
import { type Fields, fieldsOf, optionalText, textOf, toTerms } from "./sealed-terms.ts";

/** The columns that `toGrant` reads, of an entity or of a row of a hot statement. */
export type GrantRow = Pick<
  InferEntity<typeof ConnectionGrantEntity>,
  "id" | "keyVersion" | "sealedGrant" | "version"
> & {
  readonly lostReason?: string | null | undefined;
};

/** The location to which encryption binds a grant. */
export function grantPlace(accountId: string, id: string): SealedPlace {
  return { table: "connection_grant", column: "sealed_grant", accountId, rowId: id };
}

/** Seals the tokens and the parameters for renewing them. */
export function sealGrant(
  sealer: Sealer,
  accountId: string,
  id: string,
  grant: Pick<UpstreamGrant, "terms" | "tokens">,
): Buffer {
  const { terms, tokens } = grant;
  return sealer.seal(JSON.stringify({ terms, tokens }), grantPlace(accountId, id));
}

/** Converts a row to a grant. Throws SealError. */
export function toGrant(sealer: Sealer, accountId: string, row: GrantRow): UpstreamGrant {
  const sealed = fieldsOf(JSON.parse(sealer.open(row.sealedGrant, grantPlace(accountId, row.id))));
  return {
    id: row.id,
    keyVersion: row.keyVersion,
    version: row.version,
    terms: toTerms(fieldsOf(sealed.terms)),
    tokens: toTokens(fieldsOf(sealed.tokens)),
    lostReason: row.lostReason ?? undefined,
  };
}

function toTokens({ accessToken, refreshToken, expiresAtMs, scope }: Fields): StoredTokens {
  return {
    accessToken: textOf(accessToken),
    refreshToken: optionalText(refreshToken),
    expiresAtMs: typeof expiresAtMs === "number" ? expiresAtMs : undefined,
    scope: optionalText(scope),
  };
}
