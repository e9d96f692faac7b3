import { defineConfig } from "vitest/config";

/**
 * Runs that take screenshots or measure the console, without assertions: `npm run screenshots`, `npm run
 * measure:console`.
 */
export default defineConfig({
  test: {
    environment: "node",
    include: ["test/console/*.run.ts"],
    globalSetup: ["test/support/embedded-cluster.ts"],
    reporters: ["dot"],
    testTimeout: 600_000,
    hookTimeout: 120_000,
  },
});
