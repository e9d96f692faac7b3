import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CURL } from "./curl.ts";
import { GO } from "./go.ts";
import { JAVA } from "./java.ts";
import type { Language, Program } from "./language.ts";
import { type LiveService, startLiveService } from "./live-service.ts";
import { PYTHON } from "./python.ts";
import { BUF_CURL, GRPCURL } from "./reflection.ts";
import { missing, runTool } from "./run-tool.ts";
import { TYPESCRIPT } from "./typescript.ts";

/**
 * Generates and compiles every language's client, and runs `examples/` against a live service. All examples must print
 * the same output. A language without its toolchain is skipped by name. Usage: `npm run test:clients` for all
 * languages, `npm run test:clients -- go java` for some.
 */
const LANGUAGES: readonly Language[] = [TYPESCRIPT, CURL, BUF_CURL, GRPCURL, PYTHON, GO, JAVA];

/** The output of every example. The reason of the error is the same over every protocol. */
const STORY = new RegExp(
  [
    "^created: Echo",
    "connections: 1",
    "tool: echo",
    "answer: Echo: hello",
    "enabled: false",
    "refused: INVALID_ARGUMENT Invalid access type specified\\.?",
    "deleted\n$",
  ].join("\n"),
);

const wanted = process.argv.slice(2).map((name) => name.toLowerCase());
const chosen = LANGUAGES.filter(({ name }) => wanted.length === 0 || wanted.includes(name.toLowerCase()));
const service = await startLiveService();
const passed: string[] = [];
const failed: string[] = [];
const skipped: string[] = [];
try {
  for (const language of chosen) await check(language, service);
} finally {
  await service.stop();
}
console.log(
  `clients: passed: ${passed.join(", ") || "none"}; failed: ${failed.join(", ") || "none"}; skipped: ${skipped.join(", ") || "none"}`,
);
process.exitCode = failed.length > 0 || passed.length === 0 ? 1 : 0;

async function check(language: Language, live: LiveService): Promise<void> {
  const absent = missing(language.needs);
  if (absent.length > 0) {
    console.log(`${language.name}: SKIPPED, no ${absent.join(", ")} on PATH`);
    skipped.push(`${language.name} (no ${absent.join(", ")})`);
    return;
  }
  const folder = await mkdtemp(join(tmpdir(), `patchbay-${language.name.toLowerCase()}-`));
  const startedAt = Date.now();
  try {
    for (const program of await language.build(folder)) {
      await tell(program, live);
      passed.push(program.example);
      console.log(`${language.name}: ${program.example} tells the story, ${sinceSeconds(startedAt)} s`);
    }
  } catch (error) {
    failed.push(language.name);
    console.log(`${language.name}: FAILED after ${sinceSeconds(startedAt)} s\n${String(error)}`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function tell(
  { example, command, args, env = {}, folder, story = STORY }: Program,
  live: LiveService,
): Promise<void> {
  const surroundings = { env: { ...env, ...(await live.newUser()) }, ...(folder !== undefined && { folder }) };
  const output = await runTool(command, args, surroundings);
  if (!story.test(output)) throw new Error(`${example} printed a different output:\n${output}`);
}

function sinceSeconds(startedAt: number): number {
  return Math.round((Date.now() - startedAt) / 1000);
}
