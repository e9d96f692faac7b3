import { defineConfig } from "vitest/config";

/** Runs that look at the console and measure it, and assert nothing: `npm run screenshots`, `npm run measure:console`. */
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
