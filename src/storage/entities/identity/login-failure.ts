import { defineEntity } from "@mikro-orm/core";

/** How often logging in to an account has failed lately. */
export const LoginFailureEntity = defineEntity({
  name: "LoginFailure",
  properties: (p) => ({
    key: p.text().primary(),
    points: p.integer().default(0),
    /** Milliseconds since 1970. */
    expire: p.bigint().nullable(),
  }),
  indexes: [{ name: "login_failure_expiry", properties: ["expire"] }],
});
