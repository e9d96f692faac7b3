import { defineEntity } from "@mikro-orm/core";

/** Who we are at an authorization server that registered us, sealed. */
export const UpstreamClientEntity = defineEntity({
  name: "UpstreamClient",
  properties: (p) => ({
    id: p.text().primary(),
    sealedClient: p.blob().$type<Buffer>(),
    expiresAt: p.datetime().nullable(),
    createdAt: p.datetime().defaultRaw("now()"),
  }),
});
