import { defineEntity } from "@mikro-orm/core";
import { OpenapiDocumentEntity } from "./openapi-document.ts";

/** An address from which OpenAPI documents are fetched. */
export const OpenapiSourceEntity = defineEntity({
  name: "OpenapiSource",
  properties: (p) => ({
    url: p.text().primary(),
    digest: p
      .manyToOne(OpenapiDocumentEntity)
      .mapToPk()
      .joinColumn("digest")
      .fieldName("digest")
      .foreignKeyName("openapi_source_digest_fkey")
      .updateRule("no action")
      .deleteRule("no action"),
    etag: p.text().nullable(),
    dueAt: p.datetime(),
    usedAt: p.datetime().defaultRaw("now()"),
  }),
  indexes: [
    { name: "openapi_source_due_at_idx", properties: ["dueAt"] },
    { name: "openapi_source_digest_idx", properties: ["digest"] },
  ],
});
