import { defineEntity } from "@mikro-orm/core";

/** The number that a tool's name goes by. */
export const ToolNameEntity = defineEntity({
  name: "ToolName",
  properties: (p) => ({
    id: p.integer().primary().generated("identity"),
    name: p.text(),
  }),
  uniques: [{ name: "tool_name_name_key", properties: ["name"] }],
});
