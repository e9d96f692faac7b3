import { gzipSync } from "node:zlib";
import { build, type Rolldown } from "vite";
import { expect, test } from "vitest";
import { PROJECT_FOLDER } from "../support/child-process.ts";

/** The size of an entry's bundle after gzip, in bytes, and its modules. */
async function bundle(entry: string): Promise<{ readonly sizeBytes: number; readonly modules: readonly string[] }> {
  const output = (await build({
    root: PROJECT_FOLDER,
    configFile: false,
    logLevel: "error",
    build: { write: false, lib: { entry: `src/client/${entry}`, formats: ["es"] }, minify: true },
  })) as Rolldown.RolldownOutput[];
  const chunks = output.flatMap((each) => each.output).filter((each) => each.type === "chunk");
  return {
    sizeBytes: gzipSync(chunks.map(({ code }) => code).join("\n")).length,
    modules: chunks.flatMap(({ moduleIds }) => moduleIds),
  };
}

test.each([
  ["rest.ts", 8_000],
  ["connect.ts", 64_000],
])("the bundle of %s has less than %d bytes and contains no code of the service", async (entry, limitBytes) => {
  const { sizeBytes, modules } = await bundle(entry);
  expect(sizeBytes).toBeLessThan(limitBytes);
  const ours = modules.filter((id) => id.startsWith(`${PROJECT_FOLDER}/src/`));
  expect(ours.filter((id) => !id.startsWith(`${PROJECT_FOLDER}/src/client/`))).toEqual([]);
});
