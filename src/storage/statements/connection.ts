import { type Kysely, sql } from "kysely";
import type { Connection, VerificationStatus } from "../../connections/connection.ts";
import type { Tables } from "../orm.ts";
import { announcing } from "./announcing.ts";
import { auditColumns, auditOfChanged } from "./audited.ts";
import { named } from "./named.ts";
import { prepare } from "./prepare.ts";

/** `updated_at` is the row's version for optimistic changes, so it always increases and has millisecond precision. */
export const NEXT_UPDATED_AT =
  "greatest(date_trunc('milliseconds', clock_timestamp()), updated_at + interval '1 millisecond')";

const nextUpdatedAt = sql<Date>`${sql.raw(NEXT_UPDATED_AT)}`;

/** The columns of a connection, without its encrypted secrets and without its account, which every query names. */
const SHOWN = named(
  "id",
  "serverType",
  "name",
  "alias",
  "description",
  "agentEnabled",
  "accessType",
  "configuration",
  "hasCredential",
  "verificationStatus",
  "statusReason",
  "keyVersion",
  "disabledToolIds",
  "knownToolIds",
  "acceptToolChanges",
  "toolPins",
  "changedTools",
  "authMethod",
  "needsAuthorization",
  "keepContentsDays",
  "callIdleSeconds",
  "callMaxSeconds",
  "oauthClientId",
  "createdAt",
  "updatedAt",
);

interface ConnectionKey {
  readonly accountId: string;
  readonly id: number;
}

type VersionedKey = ConnectionKey & { readonly keyVersion: number };

export const findConnection = prepare("connection_find", (tables, given: ConnectionKey) =>
  tables.selectFrom("connection").select(SHOWN).where("account_id", "=", given.accountId).where("id", "=", given.id),
);

export const listConnections = prepare("connection_list", (tables, given: { accountId: string }) =>
  tables.selectFrom("connection").select(SHOWN).where("account_id", "=", given.accountId).orderBy("id"),
);

export const pageOfConnections = prepare(
  "connection_page",
  (tables, given: { accountId: string; limit: number; offset: number }) =>
    tables
      .selectFrom("connection")
      .select(SHOWN)
      .where("account_id", "=", given.accountId)
      .orderBy("id")
      .limit(given.limit)
      .offset(given.offset),
);

export const countConnections = prepare("connection_count", (tables, given: { accountId: string }) =>
  tables
    .selectFrom("connection")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("account_id", "=", given.accountId),
);

export const findSealedSecrets = prepare("connection_secrets", (tables, given: VersionedKey) =>
  tables
    .selectFrom("connection")
    .select(named("sealedSecrets"))
    .where(({ and }) => and({ account_id: given.accountId, id: given.id }))
    .where("key_version", "=", given.keyVersion),
);

/** The values of an update, and the row version that it is based on. */
type ConnectionUpdate = Connection & {
  readonly version: Date;
  readonly replacesSecrets: boolean;
  readonly sealedSecrets: Buffer | null;
  readonly forgetsAcceptedDefinitions: boolean;
  /** The actor in the format of `actorParameter`. */
  readonly actor: string;
  readonly fields: readonly string[];
};

/** Updates the row if its version is unchanged, records the event and announces the change, in one round trip. */
export const updateConnection = prepare("connection_update", (tables, given: ConnectionUpdate) =>
  tables
    .with("changed", (changed) =>
      changed
        .updateTable("connection")
        .set({
          name: given.name,
          alias: given.alias,
          description: given.description,
          agent_enabled: given.agentEnabled,
          access_type: given.accessType,
          configuration: given.configuration,
          has_credential: given.hasCredential,
          verification_status: given.verificationStatus,
          status_reason: given.statusReason ?? null,
          key_version: given.keyVersion,
          disabled_tool_ids: sql`${given.disabledToolIds}`,
          known_tool_ids: sql`${given.knownToolIds}`,
          sealed_secrets: sql`case when ${given.replacesSecrets} then ${given.sealedSecrets} else sealed_secrets end`,
          accept_tool_changes: given.acceptToolChanges,
          tool_pins: sql`case when ${given.forgetsAcceptedDefinitions} then null else tool_pins end`,
          changed_tools: sql`case when ${given.forgetsAcceptedDefinitions} then 0 else changed_tools end`,
          auth_method: given.authMethod,
          needs_authorization: given.needsAuthorization,
          wanted_scope: sql`case when ${given.needsAuthorization} then wanted_scope end`,
          keep_contents_days: given.keepContentsDays,
          // Contents that a shorter retention has hidden stay hidden when the retention is extended.
          keep_contents_since: sql`case when ${given.keepContentsDays}::integer = 0 then null
            when keep_contents_days = 0 then date_trunc('milliseconds', clock_timestamp())
            else greatest(keep_contents_since, now() - make_interval(days => ${given.keepContentsDays}::integer)) end`,
          call_idle_seconds: given.callIdleSeconds,
          call_max_seconds: given.callMaxSeconds,
          updated_at: nextUpdatedAt,
        })
        .where(({ and }) => and({ account_id: given.accountId, id: given.id, updated_at: given.version }))
        .returning(["account_id", ...SHOWN, announcing("updated")]),
    )
    .with("audited", (audited) =>
      audited
        .insertInto("audit_event")
        .columns(auditColumns)
        .expression(
          auditOfChanged({ action: "connection.update", objectType: "connection" }, given.fields, given.actor),
        ),
    )
    .selectFrom("changed")
    .selectAll(),
);

/** Stores the result of verifying this key version if it differs from the stored result. */
export const recordVerification = prepare(
  "connection_verified",
  (tables, given: VersionedKey & { status: VerificationStatus; reason: string | undefined }) =>
    tables
      .updateTable("connection")
      .set({ verification_status: given.status, status_reason: sql`${given.reason}`, updated_at: nextUpdatedAt })
      .where(({ and }) =>
        and({
          account_id: given.accountId,
          id: given.id,
          key_version: given.keyVersion,
          needs_authorization: sql.lit(false),
        }),
      )
      .where(
        sql<boolean>`(verification_status, status_reason) is distinct from (${given.status}::text, ${given.reason}::text)`,
      )
      .returning(announcing("updated")),
);

/**
 * Asks the owner to log in. With `wantedScope` the owner is asked for additional scopes, and the current authorization
 * stays usable.
 */
export const requireAuthorization = prepare(
  "connection_require_authorization",
  (tables, given: VersionedKey & { reason: string; wantedScope: string | undefined }) =>
    tables
      .updateTable("connection")
      .set({
        verification_status: sql`case
          when ${given.wantedScope}::text is not null then verification_status
          when auth_method = 'configured' and verification_status = 'pending' then 'pending'
          else 'failed' end`,
        auth_method: "oauth2",
        needs_authorization: true,
        wanted_scope: sql`coalesce(${given.wantedScope}::text, wanted_scope)`,
        status_reason: given.reason,
        updated_at: nextUpdatedAt,
      })
      .where(({ and }) => and({ account_id: given.accountId, id: given.id, key_version: given.keyVersion }))
      .where(
        sql<boolean>`not (needs_authorization and status_reason is not distinct from ${given.reason}::text
          and case when ${given.wantedScope}::text is null then verification_status <> 'verified'
            else wanted_scope is not distinct from ${given.wantedScope}::text end)`,
      )
      .returning(announcing("updated")),
);

/** Stores the names of a connection's tools; in mode `individual`, new tools start disabled. */
export const adoptTools = prepare(
  "connection_adopt_tools",
  (tables, given: ConnectionKey & { toolIds: readonly number[] }) =>
    tables
      .updateTable("connection")
      .set({
        disabled_tool_ids: sql`case when known_tool_ids is null then disabled_tool_ids
        else array(select distinct unnest(disabled_tool_ids || ${given.toolIds}::integer[]) order by 1) end`,
        known_tool_ids: sql`array(
        select distinct unnest(coalesce(known_tool_ids, '{}') || ${given.toolIds}::integer[]) order by 1)`,
        updated_at: nextUpdatedAt,
      })
      .where(({ and }) =>
        and({ account_id: given.accountId, id: given.id, access_type: sql.lit<"individual">("individual") }),
      )
      .where(sql<boolean>`not coalesce(known_tool_ids, '{}') @> ${given.toolIds}::integer[]`)
      .returning(announcing("updated")),
);

/** The values of a change of accepted definitions, and the version that it is based on. */
interface AcceptedDefinitionsUpdate extends VersionedKey {
  readonly digest: string;
  readonly changedTools: number;
  readonly before: string | undefined;
}

/**
 * Sets the accepted definitions of a connection unless they were changed concurrently. Notifies replicas but not
 * watchers.
 */
export const storeAcceptedDefinitions = prepare(
  "connection_store_accepted_definitions",
  (tables, given: AcceptedDefinitionsUpdate) => holding(tables, given).returning([...SHOWN, announcing("pins")]),
);

/** Like the statement above, for changes that watchers see: notifies watchers too. */
export const storeChangedDefinitions = prepare(
  "connection_store_changed_definitions",
  (tables, given: AcceptedDefinitionsUpdate) =>
    holding(tables, given)
      .set({ updated_at: nextUpdatedAt })
      .returning([...SHOWN, announcing("updated")]),
);

function holding(tables: Kysely<Tables>, given: AcceptedDefinitionsUpdate) {
  return tables
    .updateTable("connection")
    .set({ tool_pins: given.digest, changed_tools: given.changedTools })
    .where(({ and }) => and({ account_id: given.accountId, id: given.id }))
    .where(sql<boolean>`tool_pins is not distinct from ${given.before}::text`)
    .where("key_version", "=", given.keyVersion)
    .where("accept_tool_changes", "=", sql.lit("manual"));
}
