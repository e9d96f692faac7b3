import { defineEntity } from "@mikro-orm/core";

/** The number of recent failed logins of an account. */
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
