import { defineConfig } from "vitest/config";

/** Tests with production timeouts, which take minutes: `npm run test:soak`. */
export default defineConfig({
  test: {
    environment: "node",
    include: ["test/soak/*.soak.ts"],
    globalSetup: ["test/support/embedded-cluster.ts"],
    testTimeout: 300_000,
    hookTimeout: 120_000,
  },
});
