import { expect, test } from "vitest";
import { readConfig } from "../src/config.ts";

test("a replica has 20 database connections for requests and leaves load balancers in five seconds, unless set", () => {
  expect(readConfig({})).toMatchObject({ databasePoolSize: 20, shutdownDelaySeconds: 5 });
  const environment = { DATABASE_POOL_SIZE: "40", SHUTDOWN_DELAY_SECONDS: "0" };
  expect(readConfig(environment)).toMatchObject({ databasePoolSize: 40, shutdownDelaySeconds: 0 });
});

test.each([
  ["DATABASE_POOL_SIZE", "1", 'DATABASE_POOL_SIZE is "1"; it must be a whole number from 2 to 1000.'],
  ["DATABASE_POOL_SIZE", "many", 'DATABASE_POOL_SIZE is "many"; it must be a whole number from 2 to 1000.'],
  ["SHUTDOWN_DELAY_SECONDS", "301", 'SHUTDOWN_DELAY_SECONDS is "301"; it must be a whole number from 0 to 300.'],
])("%s=%s is refused with the rule", (name, value, message) => {
  expect(() => readConfig({ [name]: value })).toThrow(message);
});
