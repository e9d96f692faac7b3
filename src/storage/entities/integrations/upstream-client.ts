import { defineEntity } from "@mikro-orm/core";

/** The client that an authorization server registered for us, encrypted. */
export const UpstreamClientEntity = defineEntity({
  name: "UpstreamClient",
  properties: (p) => ({
    id: p.text().primary(),
    sealedClient: p.blob().$type<Buffer>(),
    expiresAt: p.datetime().nullable(),
    createdAt: p.datetime().defaultRaw("now()"),
  }),
});
