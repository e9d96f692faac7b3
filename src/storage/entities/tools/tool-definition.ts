import { defineEntity } from "@mikro-orm/core";

/** A tool definition that is or was accepted somewhere, by its digest. */
export const ToolDefinitionEntity = defineEntity({
  name: "ToolDefinition",
  properties: (p) => ({
    digest: p.text().primary(),
    definition: p.text(),
    plan: p.text().nullable(),
    usedAt: p.datetime().defaultRaw("now()"),
  }),
  indexes: [{ name: "tool_definition_used_at_idx", properties: ["usedAt"] }],
});
