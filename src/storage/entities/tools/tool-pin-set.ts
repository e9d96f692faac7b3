import { defineEntity } from "@mikro-orm/core";

/** Which definitions are in force, for all connections that hold the same. */
export const ToolPinSetEntity = defineEntity({
  name: "ToolPinSet",
  properties: (p) => ({
    digest: p.text().primary(),
    names: p.array().columnType("text[]"),
    definitions: p.array().columnType("text[]"),
    usedAt: p.datetime().defaultRaw("now()"),
  }),
  indexes: [{ name: "tool_pin_set_used_at_idx", properties: ["usedAt"] }],
});
