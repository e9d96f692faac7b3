import { defineEntity } from "@mikro-orm/core";

/** The single row that all replicas share. */
export const InstallationEntity = defineEntity({
  name: "Installation",
  properties: (p) => ({
    id: p.integer().primary().autoincrement(false).check("id = 1"),
    masterKeyFingerprint: p.text(),
    sealedPepper: p.blob().$type<Buffer>(),
    createdAt: p.datetime().defaultRaw("now()"),
  }),
});
