import { defineConfig } from "vitest/config";
import { TestSummary } from "./test/support/test-summary.ts";

const { CI, TEST_SUMMARY } = process.env;

export default defineConfig({
  test: {
    environment: "node",
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/embedded-cluster.ts"],
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    reporters: ["default", ...(TEST_SUMMARY === undefined ? [] : [new TestSummary(TEST_SUMMARY)])],
    tags: [
      // A browser on a busy machine may lose a race; a test that fails twice found a fault.
      { name: "browser", description: "Drives a real browser.", retry: CI === undefined ? 0 : 1 },
    ],
  },
});
