import { type Kysely, sql } from "kysely";
import type { SealedPlace } from "./sealing.ts";
import { flowPlace } from "./stores/connections/authorization-request.ts";
import { secretsPlace } from "./stores/connections/connection-row.ts";
import { grantPlace } from "./stores/connections/sealed-grant.ts";
import { contentsPlace } from "./stores/calls/call-contents.ts";
import { taskPlace } from "./stores/sessions/mcp-task.ts";
import { relayMessagePlace } from "./stores/sessions/relay-message.ts";
import { signingKeyPlace } from "./stores/identity/signing-key.ts";
import { webhookPlace } from "./stores/webhooks/webhook-row.ts";
import { upstreamClientPlace } from "./stores/integrations/upstream-client.ts";

/** A column with encrypted values. */
export interface SealedColumn {
  readonly table: string;
  readonly column: string;
  /** The columns of the primary key, in order. */
  readonly key: readonly { readonly name: string; readonly type: "text" | "integer" | "bigint" }[];
  /** The context that the value of this row is bound to. */
  placeOf(key: readonly string[]): SealedPlace;
}

/** The context of the installation's pepper. */
export const PEPPER_PLACE: SealedPlace = { table: "installation", column: "sealed_pepper", accountId: "", rowId: 1 };

const ID = { name: "id", type: "text" } as const;
const NUMBER = { name: "id", type: "integer" } as const;
const ACCOUNT = { name: "account_id", type: "text" } as const;

/**
 * Every column with encrypted values: `keys rewrap` encrypts them with the newest master key, and a start without an
 * older key would lose them. A test fails if a column of the schema is missing here.
 */
export const SEALED_COLUMNS: readonly SealedColumn[] = [
  { table: "installation", column: "sealed_pepper", key: [NUMBER], placeOf: () => PEPPER_PLACE },
  { table: "signing_key", column: "sealed_private_jwk", key: [ID], placeOf: ([id = ""]) => signingKeyPlace(id) },
  {
    table: "connection",
    column: "sealed_secrets",
    key: [ACCOUNT, NUMBER],
    placeOf: ([accountId = "", id = ""]) => secretsPlace(accountId, Number(id)),
  },
  {
    table: "connection_grant",
    column: "sealed_grant",
    key: [ACCOUNT, ID],
    placeOf: ([accountId = "", id = ""]) => grantPlace(accountId, id),
  },
  { table: "upstream_client", column: "sealed_client", key: [ID], placeOf: ([id = ""]) => upstreamClientPlace(id) },
  {
    table: "call_contents",
    column: "sealed",
    key: [ACCOUNT, { name: "call_id", type: "bigint" }],
    placeOf: ([accountId = "", id = ""]) => contentsPlace(accountId, Number(id)),
  },
  {
    table: "authorization_request",
    column: "sealed_flow",
    key: [ACCOUNT, ID],
    placeOf: ([accountId = "", id = ""]) => flowPlace(accountId, id),
  },
  {
    table: "relay_message",
    column: "sealed_text",
    key: [ACCOUNT, { name: "address", type: "text" }, ID],
    placeOf: ([accountId = "", address = "", id = ""]) => relayMessagePlace(accountId, address, id),
  },
  {
    table: "mcp_task",
    column: "sealed_state",
    key: [ACCOUNT, ID],
    placeOf: ([accountId = "", id = ""]) => taskPlace(accountId, id),
  },
  {
    table: "webhook",
    column: "sealed_secrets",
    key: [ACCOUNT, ID],
    placeOf: ([accountId = "", id = ""]) => webhookPlace(accountId, id),
  },
];

/** The tables by name only: one statement serves all sealed columns. */
export type SealedTables = Record<string, Record<string, unknown>>;

/** The master key's version in a sealed value (bytes 2 to 5 of its header). It sorts in the order of the numbers. */
export function versionOf({ column }: SealedColumn) {
  return sql<Buffer>`substring(${sql.ref(column)} from 2 for 4)`;
}

/** Selects the values sealed under none of the versions, by ranges so that an index can serve it. */
export function selectSealedOutside(tables: Kysely<SealedTables>, column: SealedColumn, versions: readonly number[]) {
  const sorted = versions.toSorted((a, b) => a - b);
  return tables.selectFrom(column.table).where(({ and, eb, or }) =>
    or(
      [undefined, ...sorted].map((above, index) => {
        const below = sorted[index];
        return and([
          ...(above === undefined ? [] : [eb(versionOf(column), ">", bytesOf(above))]),
          ...(below === undefined ? [] : [eb(versionOf(column), "<", bytesOf(below))]),
        ]);
      }),
    ),
  );
}

function bytesOf(version: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(version);
  return bytes;
}
