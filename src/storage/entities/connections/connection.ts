import { defineEntity } from "@mikro-orm/core";
import type { JsonObject } from "../../../json.ts";
import { owner } from "../identity/owner.ts";
import { ToolPinSetEntity } from "../tools/tool-pin-set.ts";
import { indexAs } from "../index-as.ts";

/** A connection. Its secrets are encrypted together. */
export const ConnectionEntity = defineEntity({
  name: "Connection",
  properties: (p) => ({
    accountId: owner("connection_account_id_fkey"),
    id: p.integer().primary(),
    serverType: p.text(),
    name: p.text(),
    description: p.text().default(""),
    agentEnabled: p.boolean().default(true),
    accessType: p.enum(["read", "write", "individual"]),
    configuration: p.json<JsonObject>(),
    sealedSecrets: p.blob().$type<Buffer>().nullable(),
    hasCredential: p.boolean().default(false),
    verificationStatus: p.enum(["pending", "verified", "failed"]),
    statusReason: p.text().nullable(),
    keyVersion: p.integer().default(1),
    disabledToolIds: p.array<number>().columnType("integer[]").defaultRaw("'{}'"),
    knownToolIds: p.array<number>().columnType("integer[]").nullable(),
    oauthClientId: p.text(),
    createdAt: p.datetime().defaultRaw("now()"),
    updatedAt: p.datetime().defaultRaw("now()"),
    /** Unused, replaced by `verification`; kept for replicas of the previous version. */
    verifyDueAt: p.datetime().nullable(),
    acceptToolChanges: p.enum(["manual", "automatic"]).default("manual"),
    toolPins: p
      .manyToOne(ToolPinSetEntity)
      .mapToPk()
      .nullable()
      .joinColumn("tool_pins")
      .fieldName("tool_pins")
      .foreignKeyName("connection_tool_pins_fkey")
      .updateRule("no action")
      .deleteRule("no action"),
    changedTools: p.integer().default(0),
    authMethod: p.enum(["configured", "oauth2"]).default("configured"),
    needsAuthorization: p.boolean().default(false),
    wantedScope: p.text().nullable(),
    keepContentsDays: p.smallint().default(0),
    keepContentsSince: p.datetime().nullable(),
    /** 0 means the operator's limit. */
    callIdleSeconds: p.integer().default(0),
    callMaxSeconds: p.integer().default(0),
    /**
     * Null for a connection that has not changed since aliases were introduced. Unique in the account, whose lock each
     * writer holds.
     */
    alias: p.text().nullable(),
  }),
  checks: [
    {
      name: "connection_keep_contents_days_check",
      expression: "((keep_contents_days >= 0) AND (keep_contents_days <= 30))",
    },
  ],
  indexes: [
    indexAs(
      `create index connection_spec_url on connection ((configuration->>'spec_url')) where server_type = 'openapi'`,
    ),
    indexAs(`create index connection_spec on connection ((configuration->>'spec')) where server_type = 'openapi'`),
    indexAs(
      `create index connection_unverified on connection (verification_status) where verification_status <> 'verified'`,
    ),
    indexAs(`create index connection_sealed_version on connection (substring(sealed_secrets from 2 for 4))`),
    indexAs(`create index connection_tool_pins_idx on connection (tool_pins) where tool_pins is not null`),
  ],
});
