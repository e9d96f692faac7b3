import { copyFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { PROJECT_FOLDER } from "../support/child-process.ts";
import type { Language } from "./language.ts";
import { runTool } from "./run-tool.ts";

const require = createRequire(import.meta.url);

/** The file behind a command of an installed package. */
function commandOf(name: string, path: string): string {
  return join(dirname(require.resolve(`${name}/package.json`)), path);
}

/** The compiler settings of consumers: both module resolutions, with declarations checked. */
const COMPILER = ["--strict", "--exactOptionalPropertyTypes", "--noEmit", "--target", "es2022", "--types", "node"];
const RESOLUTIONS = [
  ["--module", "nodenext", "--moduleResolution", "nodenext"],
  ["--module", "esnext", "--moduleResolution", "bundler"],
];

/**
 * Packs the package, checks its types, installs it from the registry into an empty project, and compiles against it.
 */
export const TYPESCRIPT: Language = {
  name: "TypeScript",
  needs: ["npm"],
  build: async (folder) => {
    const packed = await runTool(process.execPath, ["src/client/pack.ts", folder]);
    const tarball = packed.trim();
    const types = commandOf("@arethetypeswrong/cli", "dist/index.js");
    await runTool(process.execPath, [types, tarball, "--profile", "esm-only"]);
    await writeFile(join(folder, "package.json"), '{"name": "consumer", "private": true, "type": "module"}');
    const nodeTypes = `@types/node@${versionOf("@types/node")}`;
    await runTool("npm", ["install", "--no-audit", "--no-fund", "--prefer-offline", tarball, nodeTypes], { folder });
    await copyFile(join(PROJECT_FOLDER, "examples", "story.ts"), join(folder, "story.ts"));
    const compiler = commandOf("typescript", "bin/tsc");
    for (const resolution of RESOLUTIONS)
      await runTool(process.execPath, [compiler, ...COMPILER, ...resolution, "story.ts"], { folder });
    return [{ example: "story.ts", command: process.execPath, args: ["story.ts"], folder }];
  },
};

function versionOf(name: string): string {
  return (require(`${name}/package.json`) as { version: string }).version;
}
