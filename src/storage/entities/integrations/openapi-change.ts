import { defineEntity } from "@mikro-orm/core";
import { OpenapiSourceEntity } from "./openapi-source.ts";

/** A change of the tools in a fetched OpenAPI document. */
export const OpenapiChangeEntity = defineEntity({
  name: "OpenapiChange",
  properties: (p) => ({
    id: p.bigint("number").primary().generated("identity"),
    url: p
      .manyToOne(OpenapiSourceEntity)
      .mapToPk()
      .joinColumn("url")
      .fieldName("url")
      .foreignKeyName("openapi_change_url_fkey")
      .updateRule("no action")
      .deleteRule("cascade"),
    changedAt: p.datetime().defaultRaw("now()"),
    added: p.array().columnType("text[]"),
    removed: p.array().columnType("text[]"),
    changed: p.array().columnType("text[]").defaultRaw("'{}'"),
  }),
  indexes: [{ name: "openapi_change_url_id_idx", properties: ["url", "id"] }],
});
