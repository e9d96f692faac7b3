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

/** What every consumer's compiler may be set to: both ways to resolve, and the declarations checked too. */
const COMPILER = ["--strict", "--exactOptionalPropertyTypes", "--noEmit", "--target", "es2022", "--types", "node"];
const RESOLUTIONS = [
  ["--module", "nodenext", "--moduleResolution", "nodenext"],
  ["--module", "esnext", "--moduleResolution", "bundler"],
];

/** The package as it is packed, its types looked at, installed into an empty project from the registry, and compiled against. */
export const TYPESCRIPT: Language = {
  name: "TypeScript",
  needs: ["npm"],
  build: async (folder) => {
    const packed = await runTool(process.execPath, ["src/client/pack.ts", folder]);
    const tarball = packed.trim();
    const types = commandOf("@arethetypeswrong/cli", "dist/index.js");
    await runTool(process.execPath, [types, tarball, "--profile", "esm-only"]);
    await writeFile(join(folder, "package.json"), '{"name": "newcomer", "private": true, "type": "module"}');
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
