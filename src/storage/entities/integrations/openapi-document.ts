import { defineEntity } from "@mikro-orm/core";

/** An OpenAPI document, shared by all connections that use it. */
export const OpenapiDocumentEntity = defineEntity({
  name: "OpenapiDocument",
  properties: (p) => ({
    digest: p.text().primary(),
    content: p.blob().$type<Buffer>(),
    toolNames: p.array().columnType("text[]"),
    usedAt: p.datetime().defaultRaw("now()"),
  }),
  indexes: [{ name: "openapi_document_used_at_idx", properties: ["usedAt"] }],
});
