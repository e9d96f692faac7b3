import { defineEntity } from "@mikro-orm/core";

/** A set of accepted definitions, shared by all connections with equal definitions. */
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
