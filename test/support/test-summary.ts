import { writeFileSync } from "node:fs";
import type { Reporter, TestModule } from "vitest/node";

/**
 * Writes the reasons of skipped tests to a file, and as its last line the numbers of passed, failed and skipped tests.
 */
export class TestSummary implements Reporter {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const counts = { passed: 0, failed: unhandledErrors.length, skipped: 0, pending: 0 };
    const skipped = new Map<string, string[]>();
    for (const module of modules) {
      const failedBefore = counts.failed;
      for (const test of module.children.allTests()) {
        const result = test.result();
        counts[result.state] += 1;
        if (result.state !== "skipped") continue;
        const reason = result.note ?? "no reason given";
        skipped.set(reason, [...(skipped.get(reason) ?? []), `${module.relativeModuleId} > ${test.fullName}`]);
      }
      // A file that does not load, or a failing hook, fails without a failed test.
      if (module.state() === "failed" && counts.failed === failedBefore) counts.failed += 1;
    }
    const reasons = [...skipped].map(([reason, tests]) => `Skipped, ${reason}:\n  ${tests.join("\n  ")}\n`);
    const failed = counts.failed + counts.pending;
    const total = `${counts.passed} passed, ${failed} failed, ${counts.skipped} skipped\n`;
    writeFileSync(this.#file, reasons.join("") + total);
  }
}
