import { defineEntity } from "@mikro-orm/core";
import type { JsonObject } from "../../json.ts";

/** The progress of one backfill. */
export const BackfillEntity = defineEntity({
  name: "Backfill",
  tableName: "backfill",
  properties: (p) => ({
    name: p.text().primary(),
    lastKey: p.json().$type<JsonObject>().nullable(),
    rowsChanged: p.bigint("number").defaultRaw("0"),
    createdAt: p.datetime().defaultRaw("now()"),
    finishedAt: p.datetime().nullable(),
  }),
});
