import { defineEntity } from "@mikro-orm/core";

/** The number that represents a tool's name. */
export const ToolNameEntity = defineEntity({
  name: "ToolName",
  properties: (p) => ({
    id: p.integer().primary().generated("identity"),
    name: p.text(),
  }),
  uniques: [{ name: "tool_name_name_key", properties: ["name"] }],
});
